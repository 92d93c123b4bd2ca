/// The time and randomness of an outbox.
public protocol OutboxClock: Sendable {
  /// The device's time of day, right or wrong.
  var wall: Instant { get }
  /// The time since the device was started; it only runs forward.
  var monotonic: Duration { get }
  /// A word that is another one after each start of the device.
  var bootID: String { get }
  /// A random number.
  func random() -> UInt64
  /// Waits so long, by ``monotonic``.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  func sleep(_ time: Duration) async throws
}
