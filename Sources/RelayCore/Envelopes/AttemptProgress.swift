/// The progress of a running attempt.
package struct AttemptProgress: Sendable, Equatable {
  /// The envelope that is being tried.
  package var serial: Serial
  /// The time at which the attempt began.
  package var startedAt: WallTime
  /// The number of bytes of the body that have been sent; a few of them may still be on their way.
  package var sentBytes: Int64
  /// The body's length in bytes.
  package var bodyBytes: Int64
  /// The number of bytes of the answer's body that have come in.
  package var receivedBytes: Int64

  /// Puts the figures together.
  package init(
    serial: Serial, startedAt: WallTime, sentBytes: Int64, bodyBytes: Int64, receivedBytes: Int64
  ) {
    self.serial = serial
    self.startedAt = startedAt
    self.sentBytes = sentBytes
    self.bodyBytes = bodyBytes
    self.receivedBytes = receivedBytes
  }
}
