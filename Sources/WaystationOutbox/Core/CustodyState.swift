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
  /// The lane that was asked about last, so that the others come first.
  var lastProof: LaneNumber?
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
    for known in receipts.values {
      if let group = known.signed.fork(with: receipt, hash) { return group }
    }
    return nil
  }
}

/// The asking for what the relay has signed of a lane's ends.
///
/// A round asks about all numbers that wait for a signature, from some number up. One that is told
/// later is asked about by itself; a round from the first number comes now and then.
struct Proof: Sendable {
  /// The last number that this round has asked about.
  private(set) var cursor: Int64 = 0
  /// Whether this round has asked about all numbers, from the first one on.
  private var isWhole = true
  /// Whether nothing is to be asked until the next round, or until something is told.
  private(set) var isIdle = false
  /// When the next whole round begins, by the time since the device's start.
  private(set) var roundAt: Int64?
  /// Whether nothing that is signed of the lane can be taken.
  private var isRefused = false
  /// The lowest number that was told since the last question.
  var toldMeanwhile: Int64?
  /// Whether a page waits for the relay's keys.
  var waitsForKeys = false
  /// How often the relay has shown its keys in this round, and not the one that was wanted.
  private(set) var keyAsks = 0
  /// What was wrong first in this round.
  private var found: CustodyFault?
  /// What is wrong, as it was told.
  private(set) var fault: CustodyFault?

  /// The end of one more number is told.
  mutating func isTold(_ number: Int64) {
    toldMeanwhile = min(toldMeanwhile ?? .max, number)
    guard !isRefused else { return }
    if isIdle { isWhole = false }
    isIdle = false
    cursor = min(cursor, number - 1)
  }

  /// Begins a whole round, if it is time.
  mutating func beginRound(at nowMs: Int64) {
    guard let due = roundAt, due <= nowMs else { return }
    (cursor, isWhole, isIdle, isRefused, roundAt, keyAsks) = (0, true, false, false, nil, 0)
  }

  /// Somebody wants it tried now.
  mutating func wake() { roundAt = 0 }

  /// All numbers up to one were asked about.
  mutating func hasAsked(through number: Int64) {
    cursor = min(number, toldMeanwhile.map { $0 - 1 } ?? number)
  }

  /// The relay has shown its keys.
  mutating func hasKeys() {
    if waitsForKeys { keyAsks += 1 }
    waitsForKeys = false
  }

  /// All numbers of this round were asked about.
  ///
  /// - Returns: When the next whole one begins.
  mutating func endRound(nextAt: Int64) -> Int64 {
    // A round that is not whole says nothing of what it has not asked about.
    fault = isWhole ? found : found ?? fault
    found = nil
    isIdle = true
    keyAsks = 0
    let due = roundAt ?? nextAt
    roundAt = due
    return due
  }

  /// Nothing that is signed can be taken.
  mutating func refuse(until next: Int64) {
    (isIdle, isRefused, roundAt, found) = (true, true, next, nil)
  }

  /// Notes a fault.
  ///
  /// - Returns: Whether it is to be told: it is the first of its round, and was not told before.
  mutating func note(_ new: CustodyFault) -> Bool {
    guard found == nil else { return false }
    found = new
    guard fault != new else { return false }
    fault = new
    return true
  }
}
