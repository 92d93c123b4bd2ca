/// The configuration of the audit log.
package struct AuditConfiguration: KeyedSection, Sendable {
  package var entriesMax = 100_000

  /// The defaults.
  package init() {}

  @KeyList static var keys: [Key] {
    Key(
      "entriesMax", \.entriesMax, .integer(1...10_000_000),
      """
      how many acts the [audit log](operating.md#who-did-what) keeps, some 200 bytes each; then \
      the oldest go
      """)
  }
}
