import RelayCore

/// One key's row in the reference's table.
package struct KeyRow: Equatable, Sendable {
  /// The key's path, from where the table begins.
  package var path: String
  /// The allowed values: the type, and its bounds.
  package let values: String
  /// The default.
  package let `default`: String
  /// The key's meaning, with its unit if the name does not say it.
  package var meaning: String

  /// The words of the reference for a key that a reload does not take up.
  static let restart = ". A change takes a restart"

  /// A default as the reference shows it; nil for none.
  static func shown(_ json: Substring) -> String? {
    if ["", "null", "[]", "\"\""].contains(json) || json.hasPrefix("{") { return nil }
    guard json.allSatisfy({ $0.isNumber || $0 == "." }) else { return "`\(json)`" }
    return String(json.hasSuffix(".0") ? json.dropLast(2) : json)
  }
}

extension Configuration {
  /// The tables of `docs/configuration.md`.
  ///
  /// - Precondition: A configuration with one upstream, and else the defaults.
  package func reference() -> [(name: String, rows: [KeyRow])] {
    [
      ("all", rows()), ("listener", ListenerConfiguration.undecided.rows()),
      ("upstream", upstreams[0].rows()), ("lane", LaneRules().rows()),
      ("client", ClientRules().rows()), ("tracing", tracing.rows(below: "tracing")),
      ("limits", limits.rows()),
    ]
  }
}
