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
  /// Whether the relay is to be asked for its keys.
  var wantsKeys = false
  /// The keys that the relay did not show, and when to ask for them again, by the time since the
  /// device's start.
  var absent: [String: Int64] = [:]
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
