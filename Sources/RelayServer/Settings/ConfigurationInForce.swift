import RelayCore

/// One configuration, and what is looked up in it with each request.
final class RelaySettings: Sendable {
  let configuration: Configuration
  /// What it says of accepting envelopes.
  let rules: AcceptanceRules
  /// The store's numbers of its upstreams.
  let numbers: [String: UpstreamNumber]

  init(_ configuration: Configuration, numbers: [String: UpstreamNumber]) {
    self.configuration = configuration
    self.numbers = numbers
    rules = AcceptanceRules(configuration)
  }
}

/// What a relay goes by, since when, and what came of the last attempt to change that.
struct ConfigurationInForce: Sendable {
  var settings: RelaySettings
  /// How often a configuration was taken up, the start included.
  var generation = 0
  /// When it was taken up.
  var loadedAt: WallTime
  /// What came of the last reload; nil if there was none.
  var lastReload: ConfigurationReload?
}

/// What came of an attempt to take up another configuration.
package struct ConfigurationReload: Equatable, Sendable {
  /// What became of it.
  package enum Result: String, Sendable {
    /// It is in force.
    case applied
    /// It says what the one in force said already.
    case unchanged
    /// The one that was in force goes on.
    case refused
  }

  /// When that was.
  package let at: WallTime
  /// What became of it.
  package let result: Result
  /// What is wrong with it, at most ``problemsMax``; empty unless it was refused.
  package let problems: [String]

  /// How many problems are kept.
  package static let problemsMax = 20
}

/// The file that a configuration was read from.
package struct ConfigurationOrigin: Equatable, Sendable {
  /// Its path, as it was given.
  package let path: String
  /// SHA-256 of what it held, in hexadecimal digits: what sha256sum(1) says of it.
  package let sha256: String
}
