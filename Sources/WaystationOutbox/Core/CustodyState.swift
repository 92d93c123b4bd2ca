import RelayCore

/// What is known of receipts.
struct CustodyState: Sendable {
  /// The latest receipt of each lane that was verified.
  var receipts: [LaneNumber: KeptReceipt] = [:]
  /// The last number of each lane whose body is kept until it is known how its item has ended.
  var keptThrough: [LaneNumber: UInt64] = [:]
  /// What was told last of a lane's receipts, while it stands.
  var faults: [LaneNumber: CustodyFault] = [:]
  /// The relay's keys that are trusted.
  var ring = KeyRing([])
  /// The receipts that wait for the relay's keys.
  var waiting: [(lane: LaneNumber, receipt: SignedReceipt)] = []
  /// The keys by which pages of ledgers are signed that wait for them.
  var wantedKeys: Set<String> = []
  /// Whether the relay is to be asked for its keys.
  var wantsKeys = false
  /// The keys that the relay did not show, and when to ask for them again, by the time since the
  /// device's start.
  var absent: [String: Int64] = [:]
  /// The lanes in which ends are told and not signed yet.
  var proofs: [LaneNumber: Proof] = [:]
  /// The lanes whose chains nobody follows, as far as that has been seen to.
  var left: Set<LaneNumber> = []
  /// Whether there may be digests.
  var hasDigests = true

  /// Waits for no keys any more: the same receipts come again.
  mutating func forgetWaiting() {
    waiting = []
    wantsKeys = false
  }

  /// The number of a commit that is not what another receipt of the same store says of it; nil if
  /// there is none.
  func fork(with receipt: SignedReceipt, _ hash: ReceiptHash) -> Int64? {
    for known in receipts.values.map(\.signed) where known.store == receipt.store {
      if known.group == receipt.group, known.text.payload != receipt.text.payload {
        return known.group
      }
      let (former, later) = known.group < receipt.group ? (known, receipt) : (receipt, known)
      if former.group + 1 == later.group, later.former != hash(former.text.payload) {
        return former.group
      }
    }
    return nil
  }
}

/// The asking for what the relay has signed of a lane's ends.
struct Proof: Sendable {
  /// The last number that this round has asked about.
  var cursor: Int64 = 0
  /// Until when nothing is asked, by the time since the device's start; nil for nothing.
  var pausedUntil: Int64?
  /// How often the relay was asked for its keys in this round, since one of them was not known.
  var keyAsks = 0
  /// Whether the pause is because nothing that is signed of the lane can be taken.
  var isRefused = false
  /// What was wrong first in this round.
  var found: CustodyFault?
  /// What is wrong, as it was told.
  var fault: CustodyFault?

  /// The end of one more number is told.
  mutating func isTold(_ number: Int64) {
    cursor = min(cursor, number - 1)
    if !isRefused { pausedUntil = nil }
  }

  /// Somebody wants it tried now.
  mutating func wake() {
    pausedUntil = nil
    keyAsks = 0
  }

  /// All numbers were asked about.
  mutating func endRound() {
    fault = found
    found = nil
    keyAsks = 0
  }
}
