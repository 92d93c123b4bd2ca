/// Counts of a store's groups of receipts.
package struct ReceiptTally: Sendable, Equatable {
  /// The number of groups that were made since the store was opened.
  package private(set) var madeCount: Int64 = 0
  /// The number of envelopes that these cover.
  package private(set) var coveredCount: Int64 = 0
  /// The number of groups that are kept: they follow one another, and the oldest go first.
  package var keptCount: Int64 { kept.map { $0.upperBound - $0.lowerBound + 1 } ?? 0 }

  private var kept: ClosedRange<Int64>?

  /// Starts with nothing made.
  ///
  /// - Parameter kept: The numbers of the groups that the store has; nil if it has none.
  package init(kept: ClosedRange<Int64>? = nil) { self.kept = kept }

  /// Notes what a transaction has made; nothing if it made no group.
  package mutating func note(_ closed: ClosedChains) {
    guard let number = closed.group?.number else { return }
    madeCount += 1
    coveredCount += Int64(closed.coveredCount)
    kept = min(kept?.lowerBound ?? number, number)...number
  }

  /// Notes that groups up to a number are not kept any longer.
  package mutating func forgot(through number: Int64) {
    guard let known = kept, known.contains(number) else { return }
    kept = number < known.upperBound ? number + 1...known.upperBound : nil
  }
}
