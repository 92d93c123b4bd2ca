import JSON

/// What is kept of what people did.
package struct AuditConfiguration: Equatable, Sendable {
  /// How many acts are kept; then the oldest go.
  package var entriesMax = 100_000

  /// The defaults.
  package init() {}

  /// Some two gigabytes.
  private static let entriesLargest = 10_000_000

  mutating func read(_ section: inout SectionReader) {
    section.integer("entriesMax", into: &entriesMax, 1...Self.entriesLargest)
  }

  func writeMembers(to json: inout JSONWriter) { json.member("entriesMax", entriesMax) }
}
