/// The sequence numbers of one lane that the store has.
package struct HeldNumbers: Sendable, Equatable {
  /// The highest of them; 0 for none.
  package var highest: Int64
  /// What is missing below it.
  package var missing: MissingNumbers

  /// None at all.
  package static let none = HeldNumbers(highest: 0, missing: .none)

  /// Everything up to a number but what is missing.
  package init(highest: Int64, missing: MissingNumbers) {
    self.highest = highest
    self.missing = missing
  }

  /// What the store has not of some numbers, the lowest first.
  ///
  /// Where more is missing than is named, the rest of that is left for later: it is named once the
  /// lower ones have come.
  package func lacking(of range: SequenceRange) -> [SequenceRange] {
    let above = highest < .max ? SequenceRange(first: highest + 1, last: .max) : nil
    return (missing.ranges + [above].compactMap(\.self)).compactMap { $0.overlap(with: range) }
  }
}

extension SequenceRange {
  /// The numbers that are in both; nil if none is.
  package func overlap(with other: SequenceRange) -> SequenceRange? {
    let (low, high) = (max(first, other.first), min(last, other.last))
    return low <= high ? SequenceRange(first: low, last: high) : nil
  }
}
