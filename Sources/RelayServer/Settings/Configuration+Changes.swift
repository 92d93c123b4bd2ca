// What has changed from one configuration to the next.
extension Configuration {
  /// The differences from the old configuration that a running relay cannot take up.
  package func obstacles(after old: Configuration) -> [ConfigurationProblem] {
    Self.keys.compactMap { key in
      guard let reason = key.restart, !key.differences(self, old).isEmpty else { return nil }
      return ConfigurationProblem(
        key: key.name, reason: "\(reason); restart the relay to change it")
    }
  }

  /// The sections that say something else than before; upstreams by their names.
  package func changes(since old: Configuration) -> [String] {
    Self.keys.filter { $0.restart == nil }.flatMap { $0.differences(self, old) }
  }
}
