/// A point in civil time: milliseconds since the Unix epoch, by the relay's own clock
/// (``SettledTime``).
///
/// Used for what must survive a restart and for what people read. It may jump when the clock is
/// set, so no wait is measured by it; waits use ``MonotonicTime``.
package struct WallTime: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  package var millisecondsSinceEpoch: Int64

  /// Makes the time that is the given number of milliseconds after the Unix epoch.
  package init(millisecondsSinceEpoch: Int64) {
    self.millisecondsSinceEpoch = millisecondsSinceEpoch
  }

  /// 2023-01-01T00:00:00Z: a clock that shows an earlier time has never been set.
  package static let earliestPlausible = WallTime(millisecondsSinceEpoch: 1_672_531_200_000)

  /// 9999-12-31T23:59:59Z, the last second that RFC 3339 can write; stands for no end.
  package static let never = WallTime(millisecondsSinceEpoch: 253_402_300_799_000)

  /// The time of a clock that has never been set; stands for an unknown time of day.
  package static let unknown = WallTime(millisecondsSinceEpoch: 0)

  /// Whether a clock that has been set can show this time.
  package var isPlausible: Bool { self >= .earliestPlausible }

  /// The time so many milliseconds after this one; ``never`` if this time is not plausible, and so
  /// says nothing about the end.
  package func deadline(afterMs milliseconds: Int64) -> WallTime {
    isPlausible ? min(adding(milliseconds: milliseconds), .never) : .never
  }

  /// Orders by time.
  package static func < (left: Self, right: Self) -> Bool {
    left.millisecondsSinceEpoch < right.millisecondsSinceEpoch
  }

  /// The time `milliseconds` later, clamped to the range instead of overflowing.
  package func adding(milliseconds: Int64) -> WallTime {
    WallTime(millisecondsSinceEpoch: millisecondsSinceEpoch.addingSaturated(milliseconds))
  }

  /// The milliseconds from `earlier` to this time; negative if `earlier` is later.
  package func milliseconds(since earlier: WallTime) -> Int64 {
    millisecondsSinceEpoch.subtractingSaturated(earlier.millisecondsSinceEpoch)
  }
}

/// A reading of a clock that never jumps: nanoseconds since an arbitrary start.
///
/// Meaningful only within one process. All waits are measured by it.
package struct MonotonicTime: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's arbitrary start.
  package var nanoseconds: Int64

  /// Makes a reading from nanoseconds.
  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Orders by time.
  package static func < (left: Self, right: Self) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The time `milliseconds` later, clamped to the range instead of overflowing.
  package func adding(milliseconds: Int64) -> MonotonicTime {
    let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    let step = overflow ? (milliseconds < 0 ? Int64.min : Int64.max) : product
    return MonotonicTime(nanoseconds: nanoseconds.addingSaturated(step))
  }

  /// The whole milliseconds from `earlier` to this time; negative if `earlier` is later.
  package func milliseconds(since earlier: MonotonicTime) -> Int64 {
    nanoseconds.subtractingSaturated(earlier.nanoseconds) / 1_000_000
  }
}

/// Both clocks, read at one moment, so that a decision sees them agree.
package struct Now: Hashable, Sendable {
  /// The time that people read and that is stored.
  package var wall: WallTime
  /// The time by which waits are measured.
  package var monotonic: MonotonicTime

  /// Pairs two readings of one moment.
  package init(wall: WallTime, monotonic: MonotonicTime) {
    self.wall = wall
    self.monotonic = monotonic
  }

  /// The monotonic time at which the wall clock would show `time`, if nobody sets it meanwhile.
  package func monotonic(at time: WallTime) -> MonotonicTime {
    monotonic.adding(milliseconds: time.milliseconds(since: wall))
  }
}

extension Int64 {
  /// The sum, clamped to the range instead of overflowing.
  package func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }

  /// The difference, clamped to the range instead of overflowing.
  package func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    guard overflow else { return difference }
    return other < 0 ? .max : .min
  }
}
