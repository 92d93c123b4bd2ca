import RelayCore

/// The access rules of one configuration, arranged for look-ups.
final class AccessTable: Sendable {
  struct Key: Sendable {
    let configuration: ClientKeyConfiguration
    let secrets: [[UInt8]]
    let clients: NamePatterns<Bool>
    /// Since which configuration every token of this key that was good has stayed so.
    let since: Int

    init(_ key: ClientKeyConfiguration, since: Int) {
      configuration = key
      secrets = key.secrets.compactMap { ClientKeyConfiguration.secret($0.value) }
      clients = NamePatterns(key.clients.map { .init(pattern: $0, value: true) })
      self.since = since
    }

    /// Whether it knows all whom another one knows.
    func knowsAll(of other: Key) -> Bool {
      configuration.clients == other.configuration.clients
        && other.configuration.secrets.allSatisfy(configuration.secrets.contains)
    }
  }

  struct Operator: Sendable {
    let configuration: OperatorConfiguration
    /// Since which configuration it stands so.
    let since: Int
  }

  let operators: [Operator]
  let keys: [String: Key]
  let tokensMax: Int
  /// Which requests that bring no credential of their own are a stranger's.
  let origins: OriginPolicy
  /// Whether who shows no credential may do what needs none.
  let isOpen: Bool
  /// Whether nobody can do anything, since nothing tells callers apart and it is not open either.
  let isShut: Bool
  /// Which of the configurations that were in force one after the other it is.
  let generation: Int

  /// Lays a configuration out.
  ///
  /// - Parameters:
  ///   - hasOthers: Whether callers are told apart by what the configuration does not name: tokens
  ///     in the store, or certificates.
  ///   - earlier: The one in whose place it comes; nil at the start.
  init(
    _ access: AccessConfiguration, hasOthers: Bool, mayLackTokens: Bool, after earlier: AccessTable?
  ) {
    let generation = earlier.map { $0.generation + 1 } ?? 0
    self.generation = generation
    tokensMax = access.tokensMax
    origins = OriginPolicy(hosts: access.hosts)
    let isBare = !access.hasCredentials && !hasOthers
    isOpen = access.anonymous.map { $0 == .allow } ?? (isBare && !mayLackTokens)
    isShut = isBare && !isOpen
    operators = access.operators.map { new in
      let old = earlier?.operators.first { $0.configuration == new }
      return Operator(configuration: new, since: old?.since ?? generation)
    }
    var keys: [String: Key] = [:]
    for configuration in access.clientKeys {
      let key = Key(configuration, since: generation)
      let old = earlier?.keys[configuration.name]
      let isKept = old.map(key.knowsAll) ?? false
      keys[configuration.name] = Key(configuration, since: isKept ? old?.since ?? 0 : generation)
    }
    self.keys = keys
  }

  /// Whether a caller who was known by an earlier configuration would be known by this one.
  func stillKnows(_ caller: Caller) -> Bool {
    switch caller.credential {
    case .configured(let name):
      operators.first { $0.configuration.name == name }.map { $0.since <= caller.generation }
        ?? false
    case .derived(let token): keys[token.key].map { $0.since <= caller.generation } ?? false
    case .stored, .certificate: true
    case nil: isOpen
    }
  }

  /// Whether this configuration is the first to know a credential as it does, or does not know it.
  func isNews(of credential: Caller.Credential) -> Bool {
    switch credential {
    case .configured(let name):
      operators.first { $0.configuration.name == name }?.since ?? generation == generation
    case .derived(let token): keys[token.key]?.since ?? generation == generation
    case .stored, .certificate: false
    }
  }
}
