/// Decides what one timer is set for, on behalf of something that waits for many times: the
/// earliest.
///
/// A value, kept with the times under the same lock. A timer that was superseded may still fire,
/// since it is cancelled only after the lock is released. It is recognised by its number and does
/// nothing, so it never leads to another timer. However often the earliest time changes, only one
/// timer counts.
package struct Alarm: Sendable {
  /// A timer that is to be set in place of the one before it.
  package struct Setting: Hashable, Sendable {
    /// The time at which it fires.
    package let due: MonotonicTime
    /// Its number, greater than that of every earlier timer.
    package let number: UInt64
  }

  /// The timer in force; nil if none is set.
  package private(set) var setting: Setting?
  private var lastNumber: UInt64 = 0

  /// Starts without a timer.
  package init() {}

  /// Sets the timer for the earliest of the awaited times, unless one is set that fires in time.
  ///
  /// A timer for an earlier time stays, so that a wait that is cut short and begins anew does not
  /// set a timer each time. At most it fires once too often.
  ///
  /// - Parameter due: The earliest time; nil if nothing is awaited.
  /// - Returns: The timer to set; nil if none has to be set.
  package mutating func set(for due: MonotonicTime?) -> Setting? {
    guard let due else { return nil }
    if let setting, setting.due <= due { return nil }
    lastNumber += 1
    let new = Setting(due: due, number: lastNumber)
    setting = new
    return new
  }

  /// Notes that a timer has fired.
  ///
  /// - Returns: Whether it was the one in force; none is set then. A superseded timer is to be
  ///   ignored.
  package mutating func rang(_ rung: Setting) -> Bool {
    guard setting == rung else { return false }
    setting = nil
    return true
  }

  /// Cancels the timer that is set.
  package mutating func cancel() { setting = nil }
}
