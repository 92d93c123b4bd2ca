/// The configuration of retention: how long ended envelopes are kept.
package struct RetentionConfiguration: KeyedSection, Sendable {
  package var deliveredSeconds = 86_400
  package var failedSeconds = 2_592_000
  package var keySeconds = 0
  package var uploadSeconds = 86_400

  /// The defaults.
  package init() {}

  @KeyList static var keys: [Key] {
    Key(
      "deliveredSeconds", \.deliveredSeconds, .integer(0...Configuration.secondsMax),
      """
      how long a delivered envelope can still be looked up; one that something that waits may \
      refer to is kept longer
      """)
    Key(
      "failedSeconds", \.failedSeconds, .integer(0...Configuration.secondsMax),
      "the same for failed, expired and cancelled ones")
    Key(
      "keySeconds", \.keySeconds, .integer(0...Configuration.secondsMax),
      """
      how long after its end a delivered envelope's [key](protocol.md#keys-and-repeats) is \
      remembered, where that is longer than the envelope itself is kept; some 100 bytes on disk \
      for each, in PostgreSQL 160
      """)
    Key(
      "uploadSeconds", \.uploadSeconds, .integer(0...Configuration.secondsMax),
      """
      how long an [upload](protocol.md#uploads) is kept after its last byte, and longer while a \
      request brings more; a complete one, to answer its sender once more
      """)
  }
}
