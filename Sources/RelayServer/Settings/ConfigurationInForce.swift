import RelayCore

/// The configuration in force, the time since when, and the result of the last reload.
struct ConfigurationInForce: Sendable {
  var settings: RelaySettings
  /// What the files held that the collector of traces goes by.
  var tracingFiles = UpstreamFiles()
  /// The number of configurations taken up, the start included.
  var generation = 0
  /// The time when it was taken up.
  var loadedAt: WallTime
  /// The result of the last reload; nil if there was none.
  var lastReload: ConfigurationReload?
}

/// The result of a reload.
package struct ConfigurationReload: Equatable, Sendable {
  /// Its result.
  package enum Result: String, Sendable {
    /// It is in force.
    case applied
    /// It says what the one in force said already.
    case unchanged
    /// The one that was in force goes on.
    case refused
  }

  /// The time of the reload.
  package let at: WallTime
  /// Its result.
  package let result: Result
  /// The problems found, at most ``problemsMax``; empty unless it was refused.
  package let problems: [String]

  /// The most problems that are kept.
  package static let problemsMax = 20
}

/// The file that a configuration was read from.
package struct ConfigurationOrigin: Equatable, Sendable {
  /// Its path, as it was given.
  package let path: String
  /// SHA-256 of what it held, in hexadecimal digits: what sha256sum(1) says of it.
  package let sha256: String
}
