/// The lanes' heads of one commit, under one root that is signed.
package struct ReceiptGroup: Sendable, Equatable {
  /// Its number: each has the next one, from 1.
  package var number: Int64
  /// What is signed: a JSON text.
  package var payload: [UInt8]
  /// The hashes of the heads, in order.
  package var leaves: [[UInt8]]

  /// Puts together a group that was stored.
  package init(number: Int64, payload: [UInt8], leaves: [[UInt8]]) {
    self.number = number
    self.payload = payload
    self.leaves = leaves
  }

  /// Makes the group of a commit.
  ///
  /// - Parameters:
  ///   - rules: Who issues it.
  ///   - store: The store's identity.
  ///   - former: The group before it; nil for the first one of a store.
  ///   - heads: At least one.
  package init(
    _ rules: ReceiptRules, of store: [UInt8], after former: ReceiptMark?, heads: [LaneHead],
    at time: WallTime
  ) {
    number = (former?.number ?? 0) + 1
    let hash = rules.hash
    leaves = heads.map { MerkleTree.leaf(of: $0.bytes, hash) }
    let root = MerkleTree(leaves: leaves, hash).root
    let members = [
      "\"iss\":\(rules.issuer)", "\"store\":\"\(Hexadecimal.encode(store))\"",
      "\"group\":\(number)",
      former.map { "\"prev\":\"\(Base64URL.encode(hash($0.payload)))\"" },
      "\"size\":\(leaves.count)", "\"root\":\"\(Base64URL.encode(root))\"",
      "\"at\":\(time.millisecondsSinceEpoch)",
    ]
    payload = Array("{\(members.compactMap(\.self).joined(separator: ","))}".utf8)
  }
}

extension ReceiptGroup {
  /// What the next group goes by.
  package var mark: ReceiptMark { ReceiptMark(number: number, payload: payload) }
}

/// What a store keeps of a group.
package struct StoredGroup: Sendable, Equatable {
  /// What is signed.
  package var payload: [UInt8]
  /// The hashes of the heads, one behind the other.
  package var leaves: [UInt8]

  /// Puts together what was stored.
  package init(payload: [UInt8], leaves: [UInt8]) {
    self.payload = payload
    self.leaves = leaves
  }
}

/// The last group that a store has made, for the next one to refer to.
package struct ReceiptMark: Sendable, Equatable {
  /// The group's number.
  package var number: Int64
  /// What was signed of it.
  package var payload: [UInt8]

  /// Puts together a mark.
  package init(number: Int64, payload: [UInt8]) {
    self.number = number
    self.payload = payload
  }
}

/// Which receipts are kept, and which entries of ledgers whose envelopes are forgotten.
package struct ReceiptRetention: Sendable, Equatable {
  /// Those that were made at this time or later; entries by when their envelopes were forgotten.
  package var since: WallTime
  /// So many groups at the most.
  package var groupsMax: Int
  /// So many entries of ledgers at the most.
  package var entriesMax: Int

  /// Sets the limits.
  package init(since: WallTime, groupsMax: Int, entriesMax: Int) {
    self.since = since
    self.groupsMax = groupsMax
    self.entriesMax = entriesMax
  }

  /// The last of the oldest groups that are not kept any longer; nil if all are.
  ///
  /// - Parameters:
  ///   - oldest: The oldest groups, in order, without the last one that was made: the next one
  ///     refers to that.
  ///   - last: The number of the last one.
  package func lastForgotten(among oldest: [(number: Int64, at: Int64)], last: Int64) -> Int64? {
    oldest.prefix {
      $0.at < since.millisecondsSinceEpoch || last - $0.number >= Int64(groupsMax)
    }.last?.number
  }
}

/// How a store makes receipts.
package struct ReceiptRules: Sendable, Equatable {
  /// Who issues them, as a JSON string.
  package let issuer: String
  /// Of which lanes there are ledgers.
  package let evidence: NamePatterns<Bool>
  /// SHA-256.
  package let hash: ReceiptHash

  /// Puts together the rules; see the properties.
  package init(
    issuer: String, evidence: NamePatterns<Bool> = NamePatterns(), hash: @escaping ReceiptHash
  ) {
    self.issuer = issuer
    self.evidence = evidence
    self.hash = hash
  }

  /// Whether two are alike: there is one hash function.
  package static func == (left: ReceiptRules, right: ReceiptRules) -> Bool {
    left.issuer == right.issuer && left.evidence == right.evidence
  }
}
