/// Some sequence numbers of a lane, one after the other.
package struct SequenceRange: Hashable, Sendable {
  /// The first of them, from 1.
  package let first: Int64
  /// The last of them, not below the first.
  package let last: Int64

  /// Names the numbers from `first` to `last`.
  package init(first: Int64, last: Int64) {
    precondition(first >= 1 && last >= first, "a range of sequence numbers goes upwards, from 1")
    self.first = first
    self.last = last
  }

  /// How many numbers there are.
  package var count: Int64 { last - first + 1 }
}

/// The sequence numbers of a lane that have not come, though later ones have.
package struct MissingNumbers: Hashable, Sendable {
  /// The lowest of them, in order; at most ``StoreLimits/missingRangesMax``.
  package var ranges: [SequenceRange]
  /// Whether more are missing than ``ranges`` names.
  package var hasMore: Bool

  /// Nothing is missing.
  package static let none = MissingNumbers(ranges: [], hasMore: false)

  /// Names what is missing.
  package init(ranges: [SequenceRange], hasMore: Bool) {
    self.ranges = ranges
    self.hasMore = hasMore
  }

  /// Whether nothing is missing.
  package var isEmpty: Bool { ranges.isEmpty }

  /// What of it stands before a number.
  package func before(_ number: Int64) -> MissingNumbers {
    let before = ranges.prefix { $0.first < number }
    return MissingNumbers(
      ranges: Array(before), hasMore: hasMore && before.count == ranges.count)
  }
}

/// What came of giving up the numbers that a lane had waited for.
package struct GapSkip: Sendable, Equatable {
  /// The numbers that nobody waits for any more; empty if no envelope had waited long enough.
  package var skipped: [SequenceRange]
  /// When the one that has waited longest of those that wait still was accepted; nil if none does.
  package var waitingSince: WallTime?

  /// Puts a result together.
  package init(skipped: [SequenceRange], waitingSince: WallTime?) {
    self.skipped = skipped
    self.waitingSince = waitingSince
  }
}
