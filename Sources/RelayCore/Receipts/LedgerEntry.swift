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
    /// The SHA-256 of the answer's body as the relay has kept it; that of no bytes if it kept none.
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
    bytes.add(ending?.responseDigest ?? Array(repeating: 0, count: LaneChain.digestBytes))
    bytes.add(ending?.at.millisecondsSinceEpoch ?? 0)
    return bytes.bytes
  }
}
