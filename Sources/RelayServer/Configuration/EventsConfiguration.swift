import JSON

/// What is kept of events, and who may listen to them.
package struct EventsConfiguration: Equatable, Sendable {
  /// How long an event can still be listened to, in seconds.
  package var keptSeconds = 86_400
  /// How many bytes of events are kept.
  package var keptBytesMax = 64 * 1024 * 1024
  /// The most listeners at a time; past it, 503.
  package var listenersMax = 128
  /// After how much silence a listener is sent a sign that the connection is alive, in seconds.
  package var heartbeatSeconds = 15
  /// How long a listener may take to read what it has been sent, in seconds, before it is cut off.
  package var readTimeoutSeconds = 20

  /// The defaults.
  package init() {}
}

extension EventsConfiguration {
  mutating func read(_ section: inout SectionReader) {
    section.integer("keptSeconds", into: &keptSeconds, 0...Configuration.secondsMax)
    section.integer("keptBytesMax", into: &keptBytesMax, 65_536...1 << 40)
    section.integer("listenersMax", into: &listenersMax, 0...100_000)
    section.integer("heartbeatSeconds", into: &heartbeatSeconds, 1...3600)
    section.integer("readTimeoutSeconds", into: &readTimeoutSeconds, 1...3600)
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("keptSeconds", keptSeconds)
    json.member("keptBytesMax", keptBytesMax)
    json.member("listenersMax", listenersMax)
    json.member("heartbeatSeconds", heartbeatSeconds)
    json.member("readTimeoutSeconds", readTimeoutSeconds)
  }
}
