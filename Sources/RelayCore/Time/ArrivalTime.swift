/// The times of a call, by the relay's own clock, from which spans of time count that it names.
package struct ArrivalTime: Hashable, Sendable {
  /// The time of day.
  package var time: WallTime
  /// The time that deadlines count from (``SettledTime/deadlineStart(_:elapsedMs:)``).
  package var deadlineStart: WallTime

  /// Puts both together.
  package init(time: WallTime, deadlineStart: WallTime) {
    self.time = time
    self.deadlineStart = deadlineStart
  }

  /// Makes those of a clock that is right.
  package init(_ time: WallTime) { self.init(time: time, deadlineStart: time) }

  /// The time so many seconds after the call; before it, for less than none.
  package func after(seconds: Int64) -> WallTime {
    min(time.adding(milliseconds: seconds.millisecondsSaturated), .never)
  }

  /// A deadline so many seconds after the call; before it, for less than none.
  ///
  /// ``WallTime/never`` if the time of day is not known.
  package func deadline(afterSeconds seconds: Int64) -> WallTime {
    deadlineStart.deadline(afterMs: seconds.millisecondsSaturated)
  }
}

extension Int64 {
  /// So many seconds in milliseconds, clamped to the range instead of overflowing.
  fileprivate var millisecondsSaturated: Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: 1000)
    guard overflow else { return product }
    return self < 0 ? .min : .max
  }
}
