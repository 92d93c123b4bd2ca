import RelayCore
import RelayServer
import Testing

@Suite("A relayed request")
struct RelayRequestDecoderTests {
  @Test(
    "path and query go on byte for byte",
    arguments: [
      ("/v1/relay/default", "/"), ("/v1/relay/default/", "/"), ("/v1/relay/default?a=1", "/?a=1"),
      ("/v1/relay/default/a%2Fb//c?x=%20&y=/../", "/a%2Fb//c?x=%20&y=/../"),
      ("/v1/relay/default/a?", "/a?"),
    ])
  func target(_ target: String, _ expected: String) throws {
    let decoded = try Fixture.relay(target, [])
    #expect(String(decoding: decoded.draft.content.target, as: UTF8.self) == expected)
  }

  @Test("the method is the request's, whatever it is")
  func method() throws {
    #expect(
      try Fixture.relay("/v1/relay/default/", [], method: "PURGE").draft.content.method == "PURGE")
  }

  @Test(
    "a method that opens a tunnel or brings back what was sent, or is too long, is refused",
    arguments: ["TRACE", "trace", "Connect", String(repeating: "M", count: 33)])
  func refusedMethod(method: String) throws {
    #expect(throws: Problem.self) {
      try Fixture.relay("/v1/relay/default/x", [], method: method)
    }
    let envelope = #"{"client":"c","path":"/x","method":"\#(method)"}"#
    #expect(try Fixture.problem(envelope)?.field == "/method")
  }

  @Test("fields go on in their order, but those that concern the connection or the relay")
  func fields() throws {
    let decoded = try Fixture.relay(
      "/v1/relay/default/a",
      [
        "X-One:  1 ", "Connection: close, X-Hop", "X-Hop: 1", "x-one: 2", "Keep-Alive: 5",
        "TE: trailers", "Upgrade: h2c", "Proxy-Connection: x", "Trailer: X", "Expect: 100-continue",
        "Proxy-Authorization: Basic eDp5", "Proxy-Authenticate: Basic",
        "Content-Length: 0", "Via: 1.0 other", "Content-Type: a/b", "Idempotency-Key: k-1",
        "Prefer: return=minimal, wait=5; x=1", "Prefer: WAIT=\"7\"", "Waystation-Attempt: 3",
        "waystation-accepted-at: x", "Content-Encoding: gzip",
      ])
    #expect(
      text(decoded.draft.content.headers) == """
        X-One: 1\r
        x-one: 2\r
        Via: 1.0 other\r
        Content-Type: a/b\r
        Idempotency-Key: k-1\r
        Prefer: return=minimal\r
        Content-Encoding: gzip\r

        """)
    #expect(decoded.draft.key == "k-1")
  }

  @Test(
    "a field that is carried past the relay goes on by its own name, unless the relay writes it")
  func carried() throws {
    let token = "wso_" + String(repeating: "5a", count: 32)
    let decoded = try Fixture.relay(
      "/v1/relay/default/a",
      [
        "Waystation-Field-Prefer: wait=5", "waystation-field-Origin: https://a.example",
        "Waystation-Field-X: \(token)", "X: 1",
      ])
    #expect(
      text(decoded.draft.content.headers)
        == "Prefer: wait=5\r\nOrigin: https://a.example\r\nX: 1\r\n")
    for name in ["", "Host", "Via", "Waystation-Client", "Connection", "Content-Length"] {
      #expect(throws: Problem.self, "\(name)") {
        try Fixture.relay("/v1/relay/default/a", ["Waystation-Field-\(name): x"])
      }
    }
  }

  @Test("the Waystation fields say what an envelope's fields say")
  func words() throws {
    let decoded = try Fixture.relay(
      "/v1/relay/billing/a",
      [
        "Waystation-Lane: photos", "Waystation-Sequence: 12", "Waystation-Tag: t",
        "waystation-hold: true", "Waystation-Not-Before: 2026-03-01T12:00:00Z",
        "Waystation-Expires-At: 2026-03-02T12:00:00Z", "Waystation-On-Failure: block",
      ])
    let draft = decoded.draft
    #expect(draft.client == "truck-7" && draft.upstream == "billing" && draft.lane == "photos")
    #expect(draft.sequence == 12 && draft.tag == "t" && draft.hold && draft.onFailure == .block)
    #expect(draft.notBefore == Fixture.now)
    #expect(draft.expiresAt == Fixture.now.adding(milliseconds: Fixture.day))
    #expect(draft.content.headers.isEmpty && draft.key == nil)
  }

  @Test("a field for the key alone leaves Idempotency-Key to the upstream, whatever it holds")
  func ownKey() throws {
    let decoded = try Fixture.relay(
      "/v1/relay/billing/a",
      ["Idempotency-Key: not a key", "Waystation-Key: k-1", "Idempotency-Key: k-2"])
    #expect(decoded.draft.key == "k-1")
    #expect(
      text(decoded.draft.content.headers)
        == "Idempotency-Key: not a key\r\nIdempotency-Key: k-2\r\n")
  }

  @Test("without those fields the defaults hold")
  func defaults() throws {
    let draft = try Fixture.relay("/v1/relay/default/a", []).draft
    #expect(draft.lane == "default" && !draft.hold && draft.onFailure == .skip)
    #expect(draft.expiresAt == Fixture.now.adding(milliseconds: 7 * Fixture.day))
  }

  @Test(
    "a field that cannot be used is named",
    arguments: [
      ("Waystation-Lane: a b", "Waystation-Lane"),
      ("Waystation-Sequence: 0", "Waystation-Sequence"),
      ("Waystation-Sequence: +1", "Waystation-Sequence"),
      ("Waystation-Sequence: 99999999999999999999", "Waystation-Sequence"),
      ("Waystation-Hold: yes", "Waystation-Hold"),
      ("Waystation-Not-Before: now", "Waystation-Not-Before"),
      ("Waystation-Not-Before: 2999-01-01T00:00:00Z", "Waystation-Not-Before"),
      ("Waystation-Expires-At:", "Waystation-Expires-At"),
      ("Waystation-On-Failure: Skip", "Waystation-On-Failure"),
      ("Waystation-Client: again", "Waystation-Client"), ("Waystation-Tag:", "Waystation-Tag"),
      ("Idempotency-Key: a b", "Idempotency-Key"), ("Waystation-Key: a b", "Waystation-Key"),
      ("Waystation-Key: wso_" + String(repeating: "5a", count: 32), "Waystation-Key"),
    ])
  func invalid(_ line: String, _ field: String) throws {
    let problem = #expect(throws: Problem.self) {
      try Fixture.relay("/v1/relay/default/a", [line])
    }
    #expect(problem?.kind == .invalidField)
    #expect(problem?.field == field)
  }

  @Test("an unknown Waystation field is refused by name, with the nearest known one")
  func unknown() throws {
    let problem = #expect(throws: Problem.self) {
      try Fixture.relay("/v1/relay/default/a", ["Waystation-Lain: x"])
    }
    #expect(problem?.kind == .unknownField && problem?.field == "Waystation-Lain")
    #expect(problem?.fix?.contains("Waystation-Lane") == true)
  }

  @Test("a request without a client, or for an upstream that is not there, is refused")
  func missing() throws {
    let noClient = #expect(throws: Problem.self) {
      try Fixture.relay("/v1/relay/default/a", [], client: nil)
    }
    #expect(noClient?.kind == .missingField && noClient?.field == "Waystation-Client")
    let noUpstream = #expect(throws: Problem.self) { try Fixture.relay("/v1/relay/nope/a", []) }
    #expect(noUpstream?.kind == .unknownUpstream && noUpstream?.status == 404)
  }

  @Test(
    "a path that could leave the base URL is refused",
    arguments: ["/v1/relay/default/../x", "/v1/relay/default/a/%2e%2e", "/v1/relay/default/a\\b"])
  func path(_ target: String) throws {
    let problem = #expect(throws: Problem.self) { try Fixture.relay(target, []) }
    #expect(problem?.kind == .invalidField && problem?.field == "path")
  }
}
