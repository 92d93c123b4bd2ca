import Cryptography
import HTTPServer
import JSON
import RelayCore

/// `POST /v1/token/renew`.
///
/// A client gets another secret for its own token, for as long as the operator has allowed. The
/// token stays the same one in everything else: its id, its client, and its revocation. What was
/// shown stays good until its own end, or until the token is renewed once more; showing it again
/// gives the same answer.
struct RenewToken {
  private let context: EndpointContext
  private var access: Access { context.relay.access }

  init(_ context: EndpointContext) { self.context = context }

  private static let seedBytes = 32

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard !context.relay.isDraining else { throw .draining() }
    let (id, secret) = try shown(request)
    let now = context.relay.now().wall
    guard var match = access.match(id, secret, at: now) else { throw .badCredentials() }
    if !match.isFormer { match = try await renew(match, secret, at: now) }
    // What the store has answers all three: the first call, a repeated one, and two at once.
    guard let next = match.nextSecret(of: secret) else { throw .badCredentials() }
    guard ConstantTime.equals(SHA256.digest(of: next), match.record.digest) else {
      throw .internalError()
    }
    return Self.shown(match.record, AccessToken.storedText(id: id, secret: next))
  }

  /// The stored token that the request is made with.
  private func shown(_ request: HTTPRequest) throws(Problem) -> (id: String, secret: [UInt8]) {
    switch context.caller.credential {
    case .certificate: throw .unrenewableCertificate()
    case .derived: throw .unrenewableDerivedToken()
    case .stored, .configured, nil: break
    }
    let credentials = try Credentials(request.head, isRelayed: false, isOpen: access.isOpen)
    guard case .token(.stored(let id, let secret)) = credentials.shown else {
      throw .badCredentials()
    }
    return (id, secret)
  }

  /// Renews a token whose last secret was shown, and returns what the store then has of it.
  private func renew(
    _ match: TokenMatch, _ secret: [UInt8], at now: WallTime
  ) async throws(Problem) -> TokenMatch {
    let end: WallTime
    switch match.record.renewalVerdict(at: now) {
    case .renew(let until): end = until
    case .notAllowed: throw .unrenewableToken(match.record.expiresAt)
    case .endless: throw .endlessToken()
    case .exhausted(let end): throw .exhaustedToken(end)
    }
    let seed = SecureRandom.bytes(Self.seedBytes)
    let next = AccessToken.nextSecret(of: secret, id: match.record.id, seed: seed)
    let renewed = match.record.renewed(
      until: end, digest: SHA256.digest(of: next), seed: seed, at: now)
    guard let stored = try await store(renewed, after: match.number),
      let found = TokenMatch(stored, secret, at: now)
    else { throw .badCredentials() }
    access.renewed(stored)
    if stored == renewed {
      // Of each token by itself: who renews one again and again must not fill the log.
      context.relay.log.repeating(
        .info, "a token was renewed", about: stored.id, .usual, ("token", .text(stored.id)),
        ("client", .text(stored.client ?? "")), ("until", .text(RFC3339.format(end))))
    }
    return found
  }

  private func store(
    _ record: TokenRecord, after number: Int64
  ) async throws(Problem) -> TokenRecord? {
    do throws(StoreError) {
      return try await context.store.renewToken(record, after: number)
    } catch {
      throw context.problem(error)
    }
  }

  /// What its client is shown of it; the label is for operators.
  private static func shown(_ record: TokenRecord, _ token: String) -> HTTPResponse {
    var json = JSONWriter()
    json.object { json in
      json.member("id", record.id)
      if let client = record.client { json.member("client", client) }
      json.member("expiresAt", record.expiresAt)
      json.member("renewableUntil", record.renewal?.until)
      json.member("token", token)
    }
    return .freshJSON(json.finish())
  }
}
