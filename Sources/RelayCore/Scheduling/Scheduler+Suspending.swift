// A relay that cannot show that it still has its store attempts nothing: another one may be about
// to take it, and to attempt the same.
extension Scheduler {
  /// Whether attempts may begin.
  var mayAttempt: Bool { isSetOff && !isStopped && !isSuspended }

  /// Lets no attempt begin until ``resume(now:)``.
  ///
  /// What is announced and not sent is given up. Those that are being sent are to be broken off,
  /// and end as such.
  package mutating func suspend(now: Now) {
    isSuspended = true
    cutOff(now: now)
  }

  /// Goes on after ``suspend(now:)``.
  package mutating func resume(now: Now) {
    guard isSuspended else { return }
    isSuspended = false
    for number in upstreams.keys.sorted() { fillSlots(of: number, now: now) }
  }
}
