/// The chains of lanes that a transaction goes on with, until it ends.
package struct OpenChains: Sendable {
  fileprivate struct Lane: Sendable {
    var name: LaneName
    /// As it was stored; nil if it was not.
    var stored: StoredChain?
    /// nil if the next number begins a new one.
    var chain: LaneChain?
    /// The first number that this transaction has added; nil if it added none.
    var first: Int64?
    /// The number of envelopes that this transaction has linked since then.
    var linkedCount = 0
    /// Whether the lane has a ledger.
    var isEvidence: Bool
  }

  private var lanes: [LaneNumber: Lane] = [:]
  private var entries: [NewLedgerEntry] = []

  /// Begins with none.
  package init() {}

  /// Whether there is nothing to be written.
  package var isEmpty: Bool { lanes.isEmpty }

  /// Whether a lane's chain has been opened.
  package func isOpen(_ lane: LaneNumber) -> Bool { lanes[lane] != nil }

  /// Opens a lane's chain, as it was stored; nil if it has none.
  ///
  /// A lane that becomes an evidence lane, or is none any more, begins another chain: so a ledger
  /// has all numbers of a chain, or none.
  package mutating func open(
    _ lane: LaneNumber, _ name: LaneName, _ stored: StoredChain?, _ rules: ReceiptRules
  ) {
    let isEvidence = rules.evidence[name.lane] ?? false
    let goesOn = stored?.hasLedger == isEvidence
    lanes[lane] = Lane(
      name: name, stored: stored, chain: goesOn ? stored?.chain : nil, isEvidence: isEvidence)
  }

  /// Adds a number under which something came.
  ///
  /// A chain that does not lead up to the number cannot go on: a new one begins with it. So it is
  /// once receipts are made that were not made before.
  ///
  /// - Parameters:
  ///   - came: What came; nil if that is not known, as of an envelope that was accepted before
  ///     receipts were made. The chain ends then.
  ///   - incarnation: Random bytes, should a chain begin.
  /// - Precondition: The lane's chain is open.
  package mutating func take(
    _ number: Int64, _ came: LinkedEnvelope?, in lane: LaneNumber, _ hash: ReceiptHash,
    incarnation: () -> [UInt8]
  ) {
    let link: [UInt8]? = update(lane) { open in
      if let chain = open.chain, chain.through + 1 != number { open.end() }
      guard let came else { return open.endWithoutLink() }
      var chain =
        open.chain
        ?? LaneChain(of: open.name, incarnation: incarnation(), at: number, hash)
      chain.take(came.digest, hash)
      open.chain = chain
      open.first = open.first ?? number
      open.linkedCount += 1
      return open.isEvidence ? chain.link : nil
    }
    guard let came, let link else { return }
    let entry = LedgerEntry(number: number, digest: came.digest, link: link, ending: nil)
    entries.append(NewLedgerEntry(lane: lane, serial: came.serial, entry: entry))
  }

  /// Passes numbers by under which nothing came, and which nobody waits for.
  ///
  /// - Precondition: The lane's chain is open.
  package mutating func pass(_ numbers: SequenceRange, in lane: LaneNumber) {
    update(lane) { open in
      guard open.chain?.through == numbers.first - 1 else { return open.end() }
      open.chain?.pass(through: numbers.last)
    }
  }

  private mutating func update<Result>(
    _ lane: LaneNumber, _ body: (inout Lane) -> Result
  ) -> Result {
    guard let place = lanes.index(forKey: lane) else {
      preconditionFailure("the lane's chain is open")
    }
    return body(&lanes.values[place])
  }

  /// Ends the transaction's part.
  ///
  /// - Parameters:
  ///   - store: The store's identity.
  ///   - former: The group before.
  /// - Returns: What is to be written.
  package mutating func close(
    _ rules: ReceiptRules, of store: [UInt8], after former: ReceiptMark?, at time: WallTime
  ) -> ClosedChains {
    let open = lanes.sorted { $0.key < $1.key }
    lanes.removeAll(keepingCapacity: true)
    defer { entries.removeAll(keepingCapacity: true) }
    let heads = open.compactMap { $1.head }
    let group =
      heads.isEmpty
      ? nil : ReceiptGroup(rules, of: store, after: former, heads: heads, at: time)
    var leaf = 0
    let chains = open.map { number, lane -> (lane: LaneNumber, chain: StoredChain?) in
      guard let group, let head = lane.head else { return (number, lane.unmoved) }
      defer { leaf += 1 }
      let stored = StoredChain(
        chain: head.chain, first: head.first, group: group.number, leaf: leaf,
        hasLedger: lane.isEvidence)
      return (number, stored)
    }
    return ClosedChains(
      group: group, coveredCount: open.reduce(0) { $0 + $1.value.linkedCount }, chains: chains,
      entries: entries)
  }
}

/// An envelope whose number is linked.
package struct LinkedEnvelope: Sendable {
  /// Its number in the store.
  package var serial: Serial
  /// The digest of what a receipt covers of it.
  package var digest: [UInt8]

  /// Names what came.
  package init(serial: Serial, digest: [UInt8]) {
    self.serial = serial
    self.digest = digest
  }
}

/// What a transaction writes of the chains that it has gone on with.
package struct ClosedChains: Sendable {
  /// The group; nil if no head has moved.
  package var group: ReceiptGroup?
  /// The number of envelopes that the group covers.
  package var coveredCount: Int
  /// What each lane's chain is from now on; nil for one that has ended.
  package var chains: [(lane: LaneNumber, chain: StoredChain?)]
  /// What evidence lanes' ledgers get, in order.
  package var entries: [NewLedgerEntry]
}

extension OpenChains.Lane {
  fileprivate mutating func end() { (chain, first, linkedCount) = (nil, nil, 0) }

  /// Ends it, and gives no link.
  fileprivate mutating func endWithoutLink() -> [UInt8]? {
    end()
    return nil
  }

  /// The chain where no head has moved.
  fileprivate var unmoved: StoredChain? {
    guard var stored, let chain else { return nil }
    stored.chain = chain
    return stored
  }

  fileprivate var head: LaneHead? {
    guard let chain, let first else { return nil }
    return LaneHead(lane: name, first: first, chain: chain)
  }
}
