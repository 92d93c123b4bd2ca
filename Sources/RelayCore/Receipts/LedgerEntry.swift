/// What a relay has of one number of an evidence lane: what came under it, and how it ended.
///
/// The lane's ledger has one for each link of its chain, in the order of the numbers. Numbers that
/// were given up have none, as they have no link.
package struct LedgerEntry: Sendable, Equatable {
  /// The sequence number.
  package var number: Int64
  /// The digest of what a receipt covers of it, ``CoveredItem/bytes``.
  package var digest: [UInt8]
  /// The chain's link of the number.
  package var link: [UInt8]
  /// How it ended; nil if it waits.
  package var ending: Ending?

  /// How an envelope of an evidence lane ended.
  package struct Ending: Sendable, Equatable {
    /// The end: ``EnvelopeState/isEnd``.
    package var state: EnvelopeState
    /// The status of the upstream's last answer; 0 if there was none.
    package var status: Int
    /// The SHA-256 of the answer's body as the relay has kept it: of no bytes if it kept none.
    ///
    /// ``LedgerEntry/noDigest`` if the relay made no receipts when it forgot the envelope.
    package var responseDigest: [UInt8]
    /// When it ended.
    package var at: WallTime

    /// Puts together how one ended.
    package init(state: EnvelopeState, status: Int, responseDigest: [UInt8], at: WallTime) {
      self.state = state
      self.status = status
      self.responseDigest = responseDigest
      self.at = at
    }
  }

  /// What stands for a digest that there is none of: zeros.
  package static let noDigest: [UInt8] = Array(repeating: 0, count: LaneChain.digestBytes)

  /// Puts an entry together.
  package init(number: Int64, digest: [UInt8], link: [UInt8], ending: Ending?) {
    self.number = number
    self.digest = digest
    self.link = link
    self.ending = ending
  }

  /// The bytes of which its leaf in the tree of a ledger's page is made; `docs/receipts.md` has
  /// them.
  ///
  /// One that waits has the state 0, and zeros for all else that an ending says.
  package func bytes(of lane: LaneName) -> [UInt8] {
    var bytes = ReceiptBytes("waystation.end.v1")
    bytes.add(counted: lane.client.utf8)
    bytes.add(counted: lane.lane.utf8)
    bytes.add(number)
    bytes.add(digest)
    bytes.add(UInt8(clamping: ending?.state.endCode ?? 0))
    bytes.add(UInt16(clamping: ending?.status ?? 0))
    bytes.add(ending?.responseDigest ?? Self.noDigest)
    bytes.add(ending?.at.millisecondsSinceEpoch ?? 0)
    return bytes.bytes
  }
}

/// An entry that a transaction adds to a lane's ledger.
package struct NewLedgerEntry: Sendable {
  /// The lane.
  package var lane: LaneNumber
  /// The envelope's number in the store.
  package var serial: Serial
  /// The entry.
  package var entry: LedgerEntry
}

/// A part of a lane's ledger, as a store has it at one moment.
package struct LedgerPage: Sendable, Equatable {
  /// The store's identity.
  package var store: [UInt8]
  /// The entries, by rising numbers.
  package var entries: [LedgerEntry]

  /// The type of the signed text that speaks for a page (`typ`, RFC 7515 section 4.1.9).
  package static let signedType: StaticString = "waystation-ledger+jws"
  /// From so many bytes of kept answers on, whose digests are taken for it, a page ends.
  package static let answerBytesMax = 4 << 20

  /// Puts a page together.
  package init(store: [UInt8], entries: [LedgerEntry]) {
    self.store = store
    self.entries = entries
  }
}
