import JSON

/// What is made of a machine's clock that is set.
package struct ClockConfiguration: Equatable, Sendable {
  /// How long a clock that was set ahead has to stay so before deadlines, retention and waits for
  /// sequence numbers go by it, in seconds.
  package var settleSeconds = 300

  /// The defaults.
  package init() {}

  /// A day: whoever has set a clock wrong has noticed by then.
  private static let settleSecondsMax = 86_400

  mutating func read(_ section: inout SectionReader) {
    section.integer("settleSeconds", into: &settleSeconds, 0...Self.settleSecondsMax)
  }

  func writeMembers(to json: inout JSONWriter) { json.member("settleSeconds", settleSeconds) }
}
