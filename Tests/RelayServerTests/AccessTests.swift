import Cryptography
import EventLoop
import HTTPServer
import RelayCore
import Testing

@testable import RelayServer

@Suite("Who asks")
struct AccessTests {
  private static let secret = String(repeating: "0f", count: 32)

  private func access(
    anonymous: AccessConfiguration.Anonymous? = nil, tokens: [TokenRecord] = [],
    bare: Bool = false
  ) throws -> Access {
    var configuration = AccessConfiguration()
    configuration.anonymous = anonymous
    if !bare {
      var key = ClientKeyConfiguration(name: "fleet", secrets: [Secret(Self.secret)])
      key.clients = ["truck-*", "van"]
      configuration.clientKeys = [key]
    }
    return Access(configuration, certificatesName: false, tokens: tokens)
  }

  private func stored(
    _ grant: TokenRecord.Grant, until expiresAt: WallTime? = nil
  ) -> (record: TokenRecord, token: AccessToken?) {
    let made = AccessToken.makeStored()
    let record = TokenRecord(
      id: made.id, grant: grant, digest: made.digest, createdAt: Fixture.now, expiresAt: expiresAt)
    return (record, AccessToken(parsing: Array(made.text.utf8)[...]))
  }

  @Test("a stored token is good from when it is stored until it is deleted, or ends")
  func storedTokens() throws {
    let end = Fixture.now.adding(milliseconds: 1000)
    let (record, token) = stored(.client("till-1"), until: end)
    let access = try access()
    let shown = try #require(token)
    #expect(access.caller(by: shown, at: Fixture.now) == nil)
    access.stored(record)
    let caller = try #require(access.caller(by: shown, at: Fixture.now))
    #expect(caller.client == "till-1" && access.isGood(caller, at: Fixture.now))
    #expect(access.caller(by: shown, at: end) == nil && !access.isGood(caller, at: end))
    access.deleted(record.id)
    #expect(access.caller(by: shown, at: Fixture.now) == nil)
    #expect(!access.isGood(caller, at: Fixture.now))
  }

  @Test("an open relay shows and does everything for anybody, but for tokens")
  func open() {
    for route in Route.all {
      let isToken = route.pattern.hasPrefix("/v1/token")
      let isPublic = [
        "/healthz", "/readyz", "/status/page/{file}", "/.well-known/waystation/keys",
      ].contains(route.pattern)
      for isOpen in [true, false] {
        let verdict = AccessRules.verdict(on: route.access, for: .anonymous, isOpen: isOpen)
        #expect((verdict == .allowed) == (isPublic || isOpen && !isToken), "\(route.pattern)")
      }
    }
  }

  @Test("a secret that differs in one bit is another one")
  func wrongSecret() throws {
    let (record, token) = stored(.operator(.steer))
    let access = try access(tokens: [record])
    guard case .stored(let id, var secret)? = token else { throw Problem.internalError() }
    #expect(access.caller(by: .stored(id: id, secret: secret), at: Fixture.now) != nil)
    secret[31] ^= 1
    #expect(access.caller(by: .stored(id: id, secret: secret), at: Fixture.now) == nil)
  }

  @Test("a key makes tokens for its own clients alone, until one is revoked")
  func keys() throws {
    let access = try access()
    let bytes = try #require(ClientKeyConfiguration.secret(Self.secret))
    for (client, isGood) in [("truck-7", true), ("van", true), ("vans", false), ("till", false)] {
      let name = try #require(DerivedToken(key: "fleet", client: client))
      let token = try #require(AccessToken(parsing: Array(name.text(bytes).utf8)[...]))
      #expect((access.caller(by: token, at: Fixture.now) != nil) == isGood, "\(client)")
      guard isGood else { continue }
      access.stored(
        TokenRecord(
          id: name.id, grant: .revoked(client: client), digest: [], createdAt: Fixture.now))
      #expect(access.caller(by: token, at: Fixture.now) == nil)
    }
  }

  @Test("who watches over a credential is told once of its end, or at once")
  func watches() throws {
    let (record, token) = stored(.client("till-1"))
    let access = try access(tokens: [record])
    let caller = try #require(token.flatMap { access.caller(by: $0, at: Fixture.now) })
    let count = Counter()
    let kept = access.watch(caller, at: Fixture.now) { count.add() }
    do {
      let letGo = access.watch(caller, at: Fixture.now) { count.add(10) }
      #expect(letGo != nil)
    }
    access.deleted(record.id)
    #expect(count.value == 1)
    access.deleted(record.id)
    #expect(count.value == 1 && kept != nil)
    _ = access.watch(caller, at: Fixture.now) { count.add() }
    #expect(count.value == 2)
    #expect(access.watch(.anonymous, at: Fixture.now) { count.add() } == nil)
  }

  @Test("an operator whose token or role is changed is not known any more, and the others are")
  func changedOperator() throws {
    let tokens = ["a", "b", "c"].map { "wso_" + String(repeating: $0, count: 64) }
    func configuration(_ roles: [OperatorRole], _ tokens: [String]) throws -> AccessConfiguration {
      var configuration = AccessConfiguration()
      for (index, (role, token)) in zip(roles, tokens).enumerated() {
        let digest = try #require(AccessToken.configuredDigest(of: token))
        configuration.operators.append(
          OperatorConfiguration(
            name: "operator-\(index)", role: role,
            tokenDigest: try #require(AccessConfiguration.digest(digest))))
      }
      return configuration
    }
    let access = Access(
      try configuration([.read, .read, .steer], tokens), certificatesName: false, tokens: [])
    let callers = try tokens.map { token in
      let parsed = try #require(AccessToken(parsing: Array(token.utf8)[...]))
      return try #require(access.caller(by: parsed, at: Fixture.now))
    }
    let counts = callers.map { _ in Counter() }
    let watches = zip(callers, counts).map { caller, count in
      access.watch(caller, at: Fixture.now) { count.add() }
    }
    // The first has another token, the second another role, and the third stays.
    let other = "wso_" + String(repeating: "d", count: 64)
    access.update(to: try configuration([.read, .steer, .steer], [other] + tokens[1...]))
    #expect(callers.map { access.isGood($0, at: Fixture.now) } == [false, false, true])
    #expect(counts.map(\.value) == [1, 1, 0])
    // What was so once does not make them known again, but the token itself.
    access.update(to: try configuration([.read, .read, .steer], tokens))
    #expect(callers.map { access.isGood($0, at: Fixture.now) } == [false, false, true])
    #expect(watches.count == 3)
  }

  @Test("a relay is open where nothing tells callers apart, and nothing ever did")
  func openness() throws {
    let (record, _) = stored(.operator(.read))
    #expect(try access(bare: true).isOpen)
    #expect(try !access(tokens: [record], bare: true).isOpen)
    #expect(try !access().isOpen)
    #expect(try access(anonymous: .allow).isOpen)
    #expect(try !access(anonymous: .refuse, bare: true).isOpen)
    #expect(!Access(AccessConfiguration(), certificatesName: true, tokens: []).isOpen)
    func damaged(_ anonymous: AccessConfiguration.Anonymous?, _ tokens: [TokenRecord]) -> Access {
      var configuration = AccessConfiguration()
      configuration.anonymous = anonymous
      return Access(
        configuration, certificatesName: false, tokens: tokens, mayLackTokens: true)
    }
    #expect(!damaged(nil, []).isOpen && damaged(nil, []).isShut)
    #expect(damaged(.allow, []).isOpen && !damaged(.allow, []).isShut)
    #expect(!damaged(nil, [record]).isOpen && !damaged(nil, [record]).isShut)
  }

  @Test("a certificate names a client, by one field alone, and a token has to be the same client's")
  func certificates() throws {
    var listener = ListenerConfiguration(.tcp(.loopback(port: 1)))
    let certificate = PeerCertificate(
      commonName: "truck-7", dnsNames: ["a", "b"], uris: ["urn:till:1"], emails: ["no name"],
      fingerprint: [], validUntilSeconds: 1_900_000_000)
    #expect(listener.client(namedBy: certificate) == nil)
    let fields: [(ClientCertificatesConfiguration.NameField, String?)] = [
      (.commonName, "truck-7"), (.dnsName, nil), (.uri, "urn:till:1"), (.email, nil),
    ]
    for (field, name) in fields {
      var asked = ClientCertificatesConfiguration(authorities: "a.pem")
      asked.clientName = field
      listener.tls = TLSConfiguration(certificate: "c.pem", key: "k.pem")
      listener.tls?.clientCertificates = asked
      listener.audience = nil
      #expect(listener.client(namedBy: certificate) == name)
      listener.audience = .operators
      #expect(listener.client(namedBy: certificate) == nil)
    }
    let (record, token) = stored(.client("truck-7"))
    let (operatorRecord, operatorToken) = stored(.operator(.read))
    let access = try access(tokens: [record, operatorRecord])
    let shown = Credentials.Shown.token(try #require(token))
    let operatorShown = Credentials.Shown.token(try #require(operatorToken))
    let now = Fixture.now
    #expect(access.caller(showing: shown, certified: "truck-7", at: now)?.client == "truck-7")
    #expect(access.caller(showing: shown, certified: "truck-8", at: now) == nil)
    #expect(access.caller(showing: .nothing, certified: "truck-8", at: now)?.client == "truck-8")
    #expect(access.caller(showing: .nothing, certified: nil, at: now) == .anonymous)
    #expect(access.caller(showing: .nonsense, certified: "truck-8", at: now) == nil)
    let caller = access.caller(showing: operatorShown, certified: "truck-8", at: now)
    #expect(caller?.kind == .operator(.read))
  }

  @Test("a caller ends with the certificate of its connection, if its token does not end before")
  func certificateEnds() throws {
    let access = try access()
    let end = Fixture.now.adding(milliseconds: 1000)
    let caller = access.caller(showing: .nothing, certified: "truck-7", at: Fixture.now)
    let bounded = try #require(caller).until(end)
    #expect(bounded.client == "truck-7" && bounded.credential == .certificate)
    #expect(access.isGood(bounded, at: Fixture.now))
    #expect(!access.isGood(bounded, at: end))
    #expect(bounded.until(nil) == bounded)
    #expect(bounded.until(end.adding(milliseconds: 1)) == bounded)
    #expect(bounded.until(Fixture.now).expiresAt == Fixture.now)
  }

  @Test(
    "what can be no token is none",
    arguments: [
      "", "wst_", "wst_0123456789abcdef", "wst_0123456789abcdef_",
      "wst_0123456789abcdef_" + String(repeating: "a", count: 63),
      "wst_0123456789abcdeg_" + String(repeating: "a", count: 64),
      "wst_0123456789ABCDEF_" + String(repeating: "a", count: 64),
      "wst_0123456789abcdef_" + String(repeating: "A", count: 64),
      "wst_0123456789abcdef_" + String(repeating: "a", count: 64) + "_",
      "wsk_fleet.74.", "wsk_.74." + String(repeating: "a", count: 64),
      "wsk_fleet.." + String(repeating: "a", count: 64),
      "wsk_fleet.7." + String(repeating: "a", count: 64),
      "wsk_fleet.20." + String(repeating: "a", count: 64),
      "wsk_fleet.7A." + String(repeating: "a", count: 64),
      "wsk_fle.et.74." + String(repeating: "a", count: 64),
      "wso_" + String(repeating: "a", count: 65), "WSO_" + String(repeating: "a", count: 64),
      String(repeating: "a", count: 64),
    ])
  func noTokens(_ text: String) {
    #expect(AccessToken(parsing: Array(text.utf8)[...]) == nil)
  }
}
