/// How far an attempt has come that is under way.
package struct AttemptProgress: Sendable, Equatable {
  /// Which envelope is being tried.
  package var serial: Serial
  /// When the attempt began.
  package var startedAt: WallTime
  /// How many bytes of the body have been sent; a few of them may still be on their way.
  package var sentBytes: Int64
  /// How many bytes the body has.
  package var bodyBytes: Int64
  /// How many bytes of the answer's body have come in.
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
