import Cryptography
import RelayCore
import Synchronization

/// Knows every credential, and who is meant by each.
///
/// All stored tokens are held in memory, as many as ``tokensMax``, so a request asks the store for
/// none, one with an unknown token takes neither a read nor memory, and a revocation holds as soon
/// as it is on disk.
package final class Access: Sendable {
  /// The most tokens that are stored at a time, revoked ones of keys included; of the latter as
  /// many may come on top.
  package var tokensMax: Int { table.tokensMax }

  /// Whether who shows no credential may do what needs none.
  package var isOpen: Bool { table.isOpen }

  /// Whether nobody can do anything, since nothing tells callers apart and it is not open either.
  package var isShut: Bool { table.isShut }

  /// Which requests that bring no credential of their own are a stranger's.
  package var origins: OriginPolicy { table.origins }

  private struct State {
    var tokens: [String: TokenRecord] = [:]
    /// The number of them that are revoked tokens of keys.
    var revokedCount = 0
    var watches: [Caller.Credential: [UInt64: @Sendable () -> Void]] = [:]
    var lastTicket: UInt64 = 0

    mutating func keep(_ record: TokenRecord) {
      guard tokens.updateValue(record, forKey: record.id) == nil else { return }
      revokedCount += record.isRevoked ? 1 : 0
    }
  }

  private let certificatesName: Bool
  private let mayLackTokens: Bool
  private let tableInForce: Mutex<AccessTable>
  private let state: Mutex<State>

  private var table: AccessTable { tableInForce.withLock { $0 } }

  /// Credentials as the configuration and the store have them.
  ///
  /// - Parameters:
  ///   - certificatesName: Whether a listener knows clients by their certificates.
  ///   - mayLackTokens: Whether stored tokens may have been lost with a damaged store.
  package init(
    _ configuration: AccessConfiguration, certificatesName: Bool, tokens: [TokenRecord],
    mayLackTokens: Bool = false
  ) {
    self.certificatesName = certificatesName
    self.mayLackTokens = mayLackTokens
    // A token in the store says that callers were told apart once: taking the rest out of the
    // configuration must not open the relay, and neither must losing the store.
    tableInForce = Mutex(
      AccessTable(
        configuration, hasOthers: certificatesName || !tokens.isEmpty,
        mayLackTokens: mayLackTokens, after: nil))
    var state = State()
    for token in tokens { state.keep(token) }
    self.state = Mutex(state)
  }

  /// Everything that the store has, read at a start.
  package static func tokens(in store: any EnvelopeStore) async throws(StoreError) -> [TokenRecord]
  {
    var tokens: [TokenRecord] = []
    while true {
      let page = try await store.tokens(
        after: tokens.last?.id ?? "", client: nil, countMax: pageCountMax)
      tokens += page.tokens
      guard page.hasMore else { return tokens }
    }
  }

  private static let pageCountMax = 10_000

  // MARK: - Who is it

  /// The caller that a token stands for; nil if the token is not valid, or not any more.
  package func caller(by token: AccessToken, at now: WallTime) -> Caller? {
    switch token {
    case .stored(let id, let secret): caller(id, secret, at: now)
    case .derived(let token, let code): caller(token, code, table)
    case .configured(let digest): caller(digest, table)
    }
  }

  private func caller(_ id: String, _ secret: [UInt8], at now: WallTime) -> Caller? {
    guard let match = match(id, secret, at: now) else { return nil }
    let credential = Caller.Credential.stored(id, renewal: match.number)
    let kind: Caller.Kind
    switch match.record.grant {
    case .client(let name): kind = .device(name)
    case .operator(let role): kind = .operator(role)
    case .revoked: return nil
    }
    return Caller(
      kind, by: credential, until: match.expiresAt, renewableUntil: match.renewableUntil)
  }

  /// The stored token that a secret is good for; nil if there is none.
  package func match(_ id: String, _ secret: [UInt8], at now: WallTime) -> TokenMatch? {
    guard let record = state.withLock({ $0.tokens[id] }) else { return nil }
    return TokenMatch(record, secret, at: now)
  }

  private func caller(_ token: DerivedToken, _ code: [UInt8], _ table: AccessTable) -> Caller? {
    guard let key = table.keys[token.key], key.clients[token.client] != nil,
      key.secrets.contains(where: { ConstantTime.equals(token.code($0), code) }),
      state.withLock({ $0.tokens[token.id] }) == nil
    else { return nil }
    return Caller(.device(token.client), by: .derived(token)).knownBy(table.generation)
  }

  private func caller(_ digest: [UInt8], _ table: AccessTable) -> Caller? {
    for match in table.operators.map(\.configuration)
    where ConstantTime.equals(match.tokenDigest, digest) {
      let caller = Caller(.operator(match.role), by: .configured(match.name))
      return caller.knownBy(table.generation)
    }
    return nil
  }

  /// Whether a caller's credential is still good.
  package func isGood(_ caller: Caller, at now: WallTime) -> Bool {
    if let end = caller.expiresAt, end <= now { return false }
    guard table.stillKnows(caller) else { return false }
    switch caller.credential {
    case .stored(let id, let number):
      return state.withLock { $0.tokens[id]?.secretNumbers.contains(number) ?? false }
    case .derived(let token): return state.withLock { $0.tokens[token.id] == nil }
    case .configured, .certificate, nil: return true
    }
  }

  // MARK: - What changes

  /// Whether another token may be stored.
  package var hasRoomForToken: Bool { state.withLock { $0.tokens.count } < tokensMax }

  /// Whether another token of a key may be revoked.
  ///
  /// There may be ``tokensMax`` of these whatever else is stored, so that tokens, however many,
  /// never keep one from being revoked.
  package var hasRoomForRevocation: Bool { state.withLock { $0.revokedCount } < tokensMax }

  /// Whether the token that a key makes was revoked.
  package func isRevoked(_ token: DerivedToken) -> Bool {
    state.withLock { $0.tokens[token.id] != nil }
  }

  /// Whether there is a key of this name for this client, so that its token can be revoked.
  package func canMake(_ token: DerivedToken) -> Bool {
    table.keys[token.key].map { $0.clients[token.client] != nil } ?? false
  }

  /// Goes by another configuration from now on.
  ///
  /// Whatever was begun with a credential that is no longer valid ends, as at a revocation.
  package func update(to configuration: AccessConfiguration) {
    let hasTokens = state.withLock { !$0.tokens.isEmpty }
    let table = tableInForce.withLock { table in
      table = AccessTable(
        configuration, hasOthers: certificatesName || hasTokens, mayLackTokens: mayLackTokens,
        after: table)
      return table
    }
    let watched = state.withLock { Array($0.watches.keys) }
    for credential in watched where table.isNews(of: credential) { end(credential) }
  }

  /// A token has been stored.
  package func stored(_ record: TokenRecord) {
    state.withLock { $0.keep(record) }
    if record.isRevoked, let token = DerivedToken(id: record.id) {
      end(.derived(token))
    }
  }

  /// A stored token has been renewed.
  ///
  /// What was begun with the secret before the last two ends. A token that was deleted meanwhile,
  /// or renewed once more, stays so.
  package func renewed(_ record: TokenRecord) {
    let former = state.withLock { state -> Range<Int64> in
      guard let known = state.tokens[record.id], known.renewalCount < record.renewalCount else {
        return 0..<0
      }
      state.tokens[record.id] = record
      let numbers = known.secretNumbers
      return numbers.lowerBound..<max(numbers.lowerBound, record.secretNumbers.lowerBound)
    }
    for number in former { end(.stored(record.id, renewal: number)) }
  }

  /// A stored token has been deleted.
  package func deleted(_ id: String) {
    let record = state.withLock { $0.tokens.removeValue(forKey: id) }
    for number in record?.secretNumbers ?? 0...0 { end(.stored(id, renewal: number)) }
  }

  private func end(_ credential: Caller.Credential) {
    let actions = state.withLock { $0.watches.removeValue(forKey: credential) }
    for action in actions?.values ?? [:].values { action() }
  }

  /// Has something done once the caller's credential is revoked, for as long as what is returned is
  /// kept; at once if that is so already.
  package func watch(
    _ caller: Caller, at now: WallTime, _ action: @escaping @Sendable () -> Void
  ) -> AccessWatch? {
    guard let credential = caller.credential else { return nil }
    let ticket = state.withLock { state in
      state.lastTicket += 1
      state.watches[credential, default: [:]][state.lastTicket] = action
      return state.lastTicket
    }
    if !isGood(caller, at: now) { action() }
    return AccessWatch(credential: credential, ticket: ticket, access: self)
  }

  fileprivate func removeWatch(_ ticket: UInt64, of credential: Caller.Credential) {
    state.withLock { state in
      state.watches[credential]?[ticket] = nil
      if state.watches[credential]?.isEmpty == true { state.watches[credential] = nil }
    }
  }
}

/// Watches over a credential until it is let go.
package final class AccessWatch: Sendable {
  private let credential: Caller.Credential
  private let ticket: UInt64
  private let access: Access

  fileprivate init(credential: Caller.Credential, ticket: UInt64, access: Access) {
    self.credential = credential
    self.ticket = ticket
    self.access = access
  }

  deinit { access.removeWatch(ticket, of: credential) }
}

extension TokenRecord {
  /// Whether it stands for nobody any more.
  fileprivate var isRevoked: Bool {
    if case .revoked = grant { true } else { false }
  }
}
