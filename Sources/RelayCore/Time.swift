/// A point in civil time: milliseconds since the Unix epoch, by the relay's own clock
/// (``SettledTime``).
///
/// Used for what must survive a restart and for what people read. It may jump when the clock is
/// set, so nothing waits by it; waits use ``MonotonicTime``.
package struct WallTime: Hashable, Comparable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  package var millisecondsSinceEpoch: Int64

  /// Makes the time that lies the given number of milliseconds after the Unix epoch.
  package init(millisecondsSinceEpoch: Int64) {
    self.millisecondsSinceEpoch = millisecondsSinceEpoch
  }

  /// 2023-01-01T00:00:00Z: a clock that shows an earlier time was never set.
  package static let earliestPlausible = WallTime(millisecondsSinceEpoch: 1_672_531_200_000)

  /// 9999-12-31T23:59:59Z, the last second that RFC 3339 can write: for what has no end.
  package static let never = WallTime(millisecondsSinceEpoch: 253_402_300_799_000)

  /// What a clock shows that was never set: where nobody knows the time of day.
  package static let unknown = WallTime(millisecondsSinceEpoch: 0)

  /// Whether a clock that was ever set can show this time.
  package var isPlausible: Bool { self >= .earliestPlausible }

  /// When what begins now and may take so long is over, in milliseconds; ``never`` where this time
  /// is one that a clock shows that was never set, and says nothing of when that is.
  package func deadline(afterMs milliseconds: Int64) -> WallTime {
    isPlausible ? min(adding(milliseconds: milliseconds), .never) : .never
  }

  /// Orders by time.
  package static func < (left: Self, right: Self) -> Bool {
    left.millisecondsSinceEpoch < right.millisecondsSinceEpoch
  }

  /// The time `milliseconds` later, held at the ends of the range instead of overflowing.
  package func adding(milliseconds: Int64) -> WallTime {
    WallTime(millisecondsSinceEpoch: millisecondsSinceEpoch.addingSaturated(milliseconds))
  }

  /// How many milliseconds lie from `earlier` to this time; negative if it is later.
  package func milliseconds(since earlier: WallTime) -> Int64 {
    millisecondsSinceEpoch.subtractingSaturated(earlier.millisecondsSinceEpoch)
  }
}

/// A reading of a clock that never jumps: nanoseconds since an arbitrary start.
///
/// Meaningful only within one process. Everything that waits, waits by this.
package struct MonotonicTime: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's arbitrary start.
  package var nanoseconds: Int64

  /// Makes a reading of the given number of nanoseconds.
  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Orders by time.
  package static func < (left: Self, right: Self) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  /// The time `milliseconds` later, held at the ends of the range instead of overflowing.
  package func adding(milliseconds: Int64) -> MonotonicTime {
    let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    let step = overflow ? (milliseconds < 0 ? Int64.min : Int64.max) : product
    return MonotonicTime(nanoseconds: nanoseconds.addingSaturated(step))
  }

  /// How many whole milliseconds lie from `earlier` to this time; negative if it is later.
  package func milliseconds(since earlier: MonotonicTime) -> Int64 {
    nanoseconds.subtractingSaturated(earlier.nanoseconds) / 1_000_000
  }
}

/// Both clocks read at one moment, so that a decision sees them agree.
package struct Now: Hashable, Sendable {
  /// What people read and what is stored.
  package var wall: WallTime
  /// What waits go by.
  package var monotonic: MonotonicTime

  /// Pairs two readings taken at the same moment.
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
  /// The sum, held at the ends of the range instead of overflowing.
  package func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }

  /// The difference, held at the ends of the range instead of overflowing.
  package func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    guard overflow else { return difference }
    return other < 0 ? .max : .min
  }
}
