/// The configuration of the log.
package struct LogConfiguration: KeyedSection, Sendable {
  /// The level of the log; each includes those after it.
  package enum Level: String, CaseIterable, Sendable {
    case debug, info, warning, error
  }

  /// The form of a log line.
  package enum Format: String, CaseIterable, Sendable {
    /// Text on a terminal, JSON elsewhere.
    case auto
    /// One JSON object a line.
    case json
    /// Lines for people.
    case text
  }

  package var level = Level.info
  package var format = Format.auto
  package var access = false

  /// The defaults.
  package init() {}

  @KeyList static var keys: [Key] {
    Key(
      "level", \.level, .word,
      "the least that is logged; [which lines have which](operating.md#the-log)")
    Key("format", \.format, .word, "`\"auto\"`: text on a terminal, JSON elsewhere")
    Key(
      "access", \.access, .flag,
      """
      whether there is a line for [each request](operating.md#the-access-log), whatever \
      `log.level` is
      """)
  }
}
