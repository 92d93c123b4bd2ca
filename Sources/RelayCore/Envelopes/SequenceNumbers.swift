/// A run of consecutive sequence numbers of a lane.
package struct SequenceRange: Hashable, Sendable {
  /// The first of them, from 1.
  package let first: Int64
  /// The last of them; at least ``first``.
  package let last: Int64

  /// Names the numbers from `first` to `last`.
  package init(first: Int64, last: Int64) {
    precondition(first >= 1 && last >= first, "a range of sequence numbers goes upwards, from 1")
    self.first = first
    self.last = last
  }

  /// The number of sequence numbers in the range.
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

  /// The missing ranges that begin before a number.
  package func before(_ number: Int64) -> MissingNumbers {
    let before = ranges.prefix { $0.first < number }
    return MissingNumbers(
      ranges: Array(before), hasMore: hasMore && before.count == ranges.count)
  }
}

/// The result of giving up numbers that a lane had waited for.
package struct GapSkip: Sendable, Equatable {
  /// The numbers given up; empty if no envelope had waited long enough.
  package var skipped: [SequenceRange]
  /// The time of acceptance of the envelope that has waited longest among those that still wait;
  /// nil if none does.
  package var waitingSince: WallTime?

  /// Puts a result together.
  package init(skipped: [SequenceRange], waitingSince: WallTime?) {
    self.skipped = skipped
    self.waitingSince = waitingSince
  }
}
