/// The configuration of events: how many are kept, and who may listen.
package struct EventsConfiguration: KeyedSection, Sendable {
  package var keptSeconds = 86_400
  package var keptBytesMax = 64 * 1024 * 1024
  package var listenersMax = 128
  package var heartbeatSeconds = 15
  package var readTimeoutSeconds = 20

  /// The defaults.
  package init() {}

  @KeyList static var keys: [Key] {
    Key(
      "keptSeconds", \.keptSeconds, .integer(0...Configuration.secondsMax),
      "how long an event can still be listened to")
    Key(
      "keptBytesMax", \.keptBytesMax, .integer(65_536...1 << 40),
      "how many bytes of events are kept: some ten for each, thirty where one comes by itself")
    Key(
      "listenersMax", \.listenersMax, .integer(0...100_000),
      "the most listeners at a time, in [shares](security.md#what-all-share); past it, 503")
    Key(
      "heartbeatSeconds", \.heartbeatSeconds, .integer(1...3600),
      "after how much silence a listener is sent a sign of life")
    Key(
      "readTimeoutSeconds", \.readTimeoutSeconds, .integer(1...3600),
      "how long a listener may take to read what it has been sent, before it is cut off")
  }
}
