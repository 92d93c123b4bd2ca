import HTTPServer
import JSON
import RelayCore

/// `GET` and `POST /v1/tokens`, and `DELETE /v1/tokens/{id}`.
struct Tokens {
  private let context: EndpointContext
  private var access: Access { context.relay.access }

  init(_ context: EndpointContext) { self.context = context }

  /// The number of times that another id is drawn if one is taken.
  private static let drawsMax = 3

  /// The tokens, without their secrets.
  func list(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try TokenListParameters(request.head.query)
    let page = try await page(parameters)
    var json = JSONWriter()
    json.object { json in
      json.memberArray("tokens") { json in
        for token in page.tokens { json.object { token.writeMembers(to: &$0) } }
      }
      if page.hasMore, let last = page.tokens.last { json.member("next", last.id) }
    }
    return .freshJSON(json.finish())
  }

  /// Makes a token, and shows it this once.
  func create(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard !context.relay.isDraining else { throw .draining() }
    let now = context.relay.now().wall
    let terms = try TokenTerms(try await CommandBody(context).read(request))
    let renewal = try terms.renewal(at: now)
    for _ in 0..<Self.drawsMax {
      try checkRoom()
      let made = AccessToken.makeStored()
      let record = TokenRecord(
        id: made.id, grant: terms.grant, digest: made.digest, label: terms.label,
        createdAt: now, expiresAt: terms.expiresAt, renewal: renewal)
      guard try await insert(record) else { continue }
      log("a token was made", record.id)
      context.act?.say("\(record.id) for \(record.grant.words)")
      return Self.shown(record, made.text)
    }
    throw .internalError()
  }

  /// Revokes a token: a stored one is forgotten, one that a key makes is remembered as revoked for
  /// good.
  func revoke(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    guard !context.relay.isDraining else { throw .draining() }
    let id = captures.decoded("id") ?? ""
    if let token = DerivedToken(id: id) {
      try await revoke(token)
    } else if AccessToken.isStoredID(id) {
      guard try await delete(id) else { throw .unknownToken(id) }
      access.deleted(id)
    } else {
      throw .unknownToken(id)
    }
    log("a token was revoked", id)
    return HTTPResponse(status: 204)
  }

  private func revoke(_ token: DerivedToken) async throws(Problem) {
    // One that was revoked before stays so, whatever has become of its key: that may come back.
    guard !access.isRevoked(token) else { return }
    guard access.canMake(token) else { throw .keylessToken(token.id) }
    guard access.hasRoomForRevocation else {
      throw .tooManyRevocations(countMax: access.tokensMax)
    }
    let record = TokenRecord(
      id: token.id, grant: .revoked(client: token.client), digest: [],
      createdAt: context.relay.now().wall)
    // False for one that another call has revoked meanwhile.
    _ = try await insert(record)
  }

  private func checkRoom() throws(Problem) {
    guard access.hasRoomForToken else {
      throw .tooManyTokens(countMax: access.tokensMax)
    }
  }

  private func log(_ event: StaticString, _ id: String) {
    context.relay.log.info(
      event, ("token", .text(id)), ("by", .text(context.caller.publicName ?? "")))
  }

  private static func shown(_ record: TokenRecord, _ token: String) -> HTTPResponse {
    var json = JSONWriter()
    json.object { json in
      record.writeMembers(to: &json)
      json.member("token", token)
    }
    return .freshJSON(json.finish(), status: 201)
  }

  // MARK: - The store

  private func page(_ parameters: TokenListParameters) async throws(Problem) -> TokenPage {
    do throws(StoreError) {
      return try await context.store.tokens(
        after: parameters.cursor, client: parameters.client, countMax: parameters.limit)
    } catch {
      throw context.problem(error)
    }
  }

  private func insert(_ record: TokenRecord) async throws(Problem) -> Bool {
    do throws(StoreError) {
      guard try await context.store.insertToken(record) else { return false }
    } catch {
      throw context.problem(error)
    }
    access.stored(record)
    return true
  }

  private func delete(_ id: String) async throws(Problem) -> Bool {
    do throws(StoreError) {
      return try await context.store.deleteToken(id)
    } catch {
      throw context.problem(error)
    }
  }
}

extension TokenRecord {
  /// The view of a token (`Token` in `openapi.yaml`): never its secret, nor a digest of it.
  fileprivate func writeMembers(to json: inout JSONWriter) {
    json.member("id", id)
    switch grant {
    case .client(let name): json.member("client", name)
    case .operator(let role): json.member("role", role.rawValue)
    case .revoked(let client): json.member("client", client)
    }
    if let label { json.member("label", label) }
    if case .revoked = grant {
      json.member("revokedAt", createdAt)
    } else {
      json.member("createdAt", createdAt)
    }
    json.member("expiresAt", expiresAt)
    json.member("renewableUntil", renewal?.until)
    json.member("renewedAt", renewal?.last?.at)
  }
}

extension TokenRecord.Grant {
  /// Whom a token stands for, in words.
  fileprivate var words: String {
    switch self {
    case .client(let name), .revoked(let name): "the client \(name)"
    case .operator(let role): "an operator who may \(role.rawValue)"
    }
  }
}
