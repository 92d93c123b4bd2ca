import RelayCore

/// What two receipts of one store show of its history: whether both can be true.
extension SignedReceipt {
  /// The number of a commit of which another receipt says something else; nil if there is none.
  package func fork(with other: SignedReceipt, _ hash: ReceiptHash) -> Int64? {
    guard store == other.store else { return nil }
    if group == other.group { return text.payload == other.text.payload ? nil : group }
    let (former, later) = group < other.group ? (self, other) : (other, self)
    return former.group + 1 == later.group && later.former != hash(former.text.payload)
      ? former.group : nil
  }

  /// Whether another receipt of the same chain stands in another order than its commit.
  ///
  /// The lane's head stands in the commit that made it, and a later one has a higher number.
  package func isOutOfOrder(with other: SignedReceipt) -> Bool {
    guard store == other.store, chain.incarnation == other.chain.incarnation else { return false }
    let (last, others) = (chain.last, other.chain.last)
    return (group < other.group) != (last < others) || (group > other.group) != (last > others)
  }

  /// Two receipts that cannot both be true.
  package struct Contradiction: Sendable, Equatable {
    /// The last numbers of both.
    package let numbers: SequenceRange
    /// The number of the commit of which the relay has signed two histories.
    package let group: Int64

    fileprivate init(_ former: SignedReceipt, _ later: SignedReceipt, group: Int64) {
      let ends = [former.chain.last, later.chain.last]
      numbers = SequenceRange(first: min(ends[0], ends[1]), last: max(ends[0], ends[1]))
      self.group = group
    }
  }

  /// The first contradiction among some receipts of a lane, in the order of their commits.
  package static func contradiction(
    among receipts: [SignedReceipt], _ hash: ReceiptHash
  ) -> Contradiction? {
    let sorted = receipts.sorted {
      ($0.store, $0.group, $0.chain.last) < ($1.store, $1.group, $1.chain.last)
    }
    var former: SignedReceipt?
    var ofChain: [[UInt8]: SignedReceipt] = [:]
    for receipt in sorted {
      if let former, let group = former.fork(with: receipt, hash) {
        return Contradiction(former, receipt, group: group)
      }
      let incarnation = receipt.chain.incarnation
      if let before = ofChain[incarnation], receipt.isOutOfOrder(with: before) {
        return Contradiction(before, receipt, group: receipt.group)
      }
      former = receipt
      ofChain[incarnation] = receipt
    }
    return nil
  }
}
