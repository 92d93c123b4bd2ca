/// The device's clocks at one moment.
///
/// The time of day may be wrong and may be set. The time since the start only runs forward, and
/// counts within one start alone.
struct Moment: Sendable, Equatable {
  /// The time of day, in milliseconds since 1970.
  var wallMs: Int64
  /// The time since the device was started, in milliseconds.
  var monotonicMs: Int64
  /// The number of that start, as this outbox counts them.
  var boot: Int64

  /// The time between two moments, in milliseconds; nil if nobody knows it.
  ///
  /// Across a start of the device only the time of day is left. It counts if it runs forward.
  func milliseconds(since earlier: Moment) -> Int64? {
    if boot == earlier.boot { return max(0, monotonicMs - earlier.monotonicMs) }
    let passed = wallMs.subtractingReportingOverflow(earlier.wallMs)
    return passed.overflow || passed.partialValue < 0 ? nil : passed.partialValue
  }
}
