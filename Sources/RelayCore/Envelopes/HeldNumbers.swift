/// The sequence numbers of one lane that the store has got.
package struct HeldNumbers: Sendable, Equatable {
  /// The highest of them; 0 for none.
  package var highest: Int64
  /// The numbers missing below it.
  package var missing: MissingNumbers

  /// None at all.
  package static let none = HeldNumbers(highest: 0, missing: .none)

  /// All numbers up to `highest` except the missing ones.
  package init(highest: Int64, missing: MissingNumbers) {
    self.highest = highest
    self.missing = missing
  }

  /// The part of a range that the store has not got, the lowest numbers first.
  ///
  /// Where more numbers are missing than ``missing`` names, the unnamed ones are left out: they are
  /// named once the lower ones have come.
  package func lacking(of range: SequenceRange) -> [SequenceRange] {
    let above = highest < .max ? SequenceRange(first: highest + 1, last: .max) : nil
    return (missing.ranges + [above].compactMap(\.self)).compactMap { $0.overlap(with: range) }
  }
}

extension SequenceRange {
  /// The numbers in both ranges; nil if there are none.
  package func overlap(with other: SequenceRange) -> SequenceRange? {
    let (low, high) = (max(first, other.first), min(last, other.last))
    return low <= high ? SequenceRange(first: low, last: high) : nil
  }
}
