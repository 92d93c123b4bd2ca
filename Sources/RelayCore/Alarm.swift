/// Decides what the one timer is set for of something that waits for many times: the earliest.
///
/// A value, kept where the times are, under the same lock. A timer that was superseded may still
/// ring, since it is taken back only after the lock has been let go: it is told from the one that
/// counts, does nothing, and so never leads to another one. However often the earliest time
/// changes, one timer counts.
package struct Alarm: Sendable {
  /// A timer that is to be set, in place of the one before it.
  package struct Setting: Hashable, Sendable {
    /// When it is to ring.
    package let due: MonotonicTime
    /// Which one it is: each has a greater number than all before it.
    package let number: UInt64
  }

  /// The timer that counts; nil if none is set.
  package private(set) var setting: Setting?
  private var lastNumber: UInt64 = 0

  /// None is set yet.
  package init() {}

  /// The earliest of the times that are waited for is this one.
  ///
  /// One that was set for an earlier time stays, so that a wait which is cut short and begins anew
  /// sets no timer each time; it rings once too often at the most.
  ///
  /// - Parameter due: nil if nothing is waited for.
  /// - Returns: The timer to set; nil if there is none, or the one that is set rings in time.
  package mutating func set(for due: MonotonicTime?) -> Setting? {
    guard let due else { return nil }
    if let setting, setting.due <= due { return nil }
    lastNumber += 1
    let new = Setting(due: due, number: lastNumber)
    setting = new
    return new
  }

  /// A timer has rung.
  ///
  /// - Returns: Whether it was the one that counts: none is set then. One that was superseded is
  ///   nobody's business any more.
  package mutating func rang(_ rung: Setting) -> Bool {
    guard setting == rung else { return false }
    setting = nil
    return true
  }

  /// The timer that is set is taken back.
  package mutating func cancel() { setting = nil }
}
