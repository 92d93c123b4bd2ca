import RelayCore

/// One configuration, and what is looked up in it with each request.
final class RelaySettings: Sendable {
  let configuration: Configuration
  /// Its rules on accepting envelopes.
  let rules: AcceptanceRules
  /// The store's numbers of its upstreams.
  let numbers: [String: UpstreamNumber]

  init(_ configuration: Configuration, numbers: [String: UpstreamNumber]) {
    self.configuration = configuration
    self.numbers = numbers
    rules = AcceptanceRules(configuration)
  }
}
