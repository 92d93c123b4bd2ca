import Forwarder
import RelayCore
import Testing

@Suite("The fields of a request to an upstream")
struct OutgoingHeadersTests {
  @Test("fields go on byte for byte, in their order, Latin-1 included")
  func bytesStay() throws {
    var block = HeaderBlock()
    block.append(name: "x-ODD-Case", value: "a,  b;\tc")
    block.append(name: "X-Latin".utf8, value: [0x63, 0x61, 0x66, 0xE9])
    block.append(name: "x-odd-case", value: "again")
    let lines = try outgoing(block)
    #expect(
      lines.prefix(3).map { $0 } == [
        Array("x-ODD-Case: a,  b;\tc".utf8), Array("X-Latin: ".utf8) + [0x63, 0x61, 0x66, 0xE9],
        Array("x-odd-case: again".utf8),
      ])
  }

  @Test("a field without a value is written in libcurl's form")
  func emptyValue() throws {
    #expect(try texts([("X-Empty", "")]).contains("X-Empty;"))
  }

  @Test(
    "fields that end at a relay are left out",
    arguments: [
      "Connection", "Keep-Alive", "proxy-connection", "Proxy-Authenticate", "PROXY-AUTHORIZATION",
      "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Expect",
      "Waystation-Hold", "waystation-attempt", "Waystation-Anything",
    ])
  func leftOut(name: String) throws {
    let lines = try texts([(name, "value"), ("X-Stays", "1")])
    #expect(!lines.contains("\(name): value"))
    #expect(lines.contains("X-Stays: 1"))
  }

  @Test(
    "so are those that CGI would make the same names of",
    arguments: [
      "Waystation_Client", "waystation_attempt", "Content_Length", "Transfer_Encoding",
      "Idempotency_Key", "X_Api-Key", "x_api_key", "Proxy_Authorization",
    ])
  func underscores(name: String) throws {
    var fixed = HeaderBlock()
    fixed.append(name: "X-Api-Key", value: "relay's")
    let lines = try texts([(name, "value"), ("X_Stays", "1")], fixed: fixed)
    #expect(!lines.contains("\(name): value"))
    #expect(lines.contains("X_Stays: 1") && lines.contains("X-Api-Key: relay's"))
  }

  @Test("what Connection names is left out, before it or behind it")
  func connectionNames() throws {
    let lines = try texts([
      ("X-Before", "1"), ("Connection", "close, x-before ,X-AFTER"), ("X-After", "2"),
      ("X-Stays", "3"), ("Connection", "x-third"), ("X-Third", "4"),
    ])
    #expect(lines.first == "X-Stays: 3")
    #expect(!lines.contains { $0.lowercased().hasPrefix("x-before") })
    #expect(!lines.contains { $0.lowercased().hasPrefix("x-after") })
    #expect(!lines.contains { $0.lowercased().hasPrefix("x-third") })
  }

  @Test("the sender's own Idempotency-Key stays")
  func ownKey() throws {
    let lines = try texts([("idempotency-KEY", "mine")])
    #expect(
      lines.filter { $0.lowercased().hasPrefix("idempotency-key") } == ["idempotency-KEY: mine"])
  }

  @Test("without one, or with an empty one, the envelope's id is the Idempotency-Key")
  func relaysKey() throws {
    for fields in [[], [("Idempotency-Key", "")]] {
      let keys = try texts(fields).filter { $0.lowercased().hasPrefix("idempotency-key") }
      #expect(keys == ["Idempotency-Key: \(exampleID)"])
    }
  }

  @Test("Via names this relay behind those before it")
  func via() throws {
    #expect(try texts([]).contains("Via: 1.1 waystation"))
    let lines = try texts([("via", "1.0 fred"), ("Via", "1.1 (x) joe")])
    #expect(lines.contains("Via: 1.0 fred, 1.1 (x) joe, 1.1 waystation"))
    #expect(lines.filter { $0.lowercased().hasPrefix("via:") }.count == 1)
  }

  @Test("the relay says attempt, time of acceptance and client")
  func ownFields() throws {
    let lines = try texts([])
    #expect(lines.contains("Waystation-Attempt: 3"))
    #expect(lines.contains("Waystation-Accepted-At: 2023-11-14T22:13:20.000Z"))
    #expect(lines.contains("Waystation-Client: device-7"))
  }

  @Test("an upstream's fixed fields replace the sender's")
  func fixedFields() throws {
    var fixed = HeaderBlock()
    fixed.append(name: "Authorization", value: "Bearer secret")
    let lines = try texts([("authorization", "Basic x"), ("X-Stays", "1")], fixed: fixed)
    #expect(
      lines.filter { $0.lowercased().hasPrefix("authorization") } == [
        "Authorization: Bearer secret"
      ])
    #expect(lines.contains("X-Stays: 1"))
  }

  @Test("a sender cannot take a fixed field away by naming it in Connection")
  func fixedFieldsStay() throws {
    var fixed = HeaderBlock()
    fixed.append(name: "Authorization", value: "Bearer secret")
    let lines = try texts([("Connection", "authorization, waystation-client, via")], fixed: fixed)
    #expect(lines.contains("Authorization: Bearer secret"))
    #expect(lines.contains("Waystation-Client: device-7"))
    #expect(lines.contains("Via: 1.1 waystation"))
  }

  @Test(
    "a field that the relay sets itself cannot be fixed",
    arguments: ["Host", "Via", "Idempotency-Key", "Connection", "Waystation-Client", "TE"])
  func notFixed(name: String) throws {
    var fixed = HeaderBlock()
    fixed.append(name: name, value: "x")
    let url = try UpstreamURL("http://127.0.0.1")
    #expect(throws: UpstreamTargetError.self) {
      try UpstreamTarget(name: "default", url: url, headers: fixed)
    }
  }

  @Test("a span of the relay's takes the place of the sender's traceparent, and of nothing else")
  func traceParent() throws {
    let fields = [
      ("TraceParent", "00-a-b-01"), ("tracestate", "x=1"), ("X-Stays", "1"),
      ("traceparent", "00-c-d-01"),
    ]
    var block = HeaderBlock()
    for (name, value) in fields { block.append(name: name, value: value) }
    func traced(fixed: HeaderBlock = HeaderBlock()) throws -> [String] {
      try outgoing(block, fixed: fixed) { $0.traceParent = "00-e-f-01" }
        .map { String(decoding: $0, as: UTF8.self) }
    }
    let lines = try traced()
    #expect(lines.prefix(2) == ["tracestate: x=1", "X-Stays: 1"])
    #expect(lines.filter { $0.lowercased().contains("traceparent") } == ["traceparent: 00-e-f-01"])
    // What the configuration says comes first.
    var fixed = HeaderBlock()
    fixed.append(name: "Traceparent", value: "own")
    #expect(
      try traced(fixed: fixed).filter { $0.lowercased().contains("traceparent") }
        == ["Traceparent: own"])
  }

  @Test("what carries no envelope says nothing of envelopes")
  func own() throws {
    var block = HeaderBlock()
    block.append(name: "Content-Type", value: "application/json")
    var fixed = HeaderBlock()
    fixed.append(name: "X-Key", value: "1")
    let lines = try outgoing(block, fixed: fixed) { $0.isOwn = true }
    #expect(
      lines.map { String(decoding: $0, as: UTF8.self) }
        == ["Content-Type: application/json", "X-Key: 1", "Accept:", "Content-Type:", "Expect:"])
  }

  private func texts(
    _ fields: [(String, String)], fixed: HeaderBlock = HeaderBlock()
  ) throws -> [String] {
    var block = HeaderBlock()
    for (name, value) in fields { block.append(name: name, value: value) }
    return try outgoing(block, fixed: fixed).map { String(decoding: $0, as: UTF8.self) }
  }

  private func outgoing(
    _ block: HeaderBlock, fixed: HeaderBlock = HeaderBlock(),
    _ change: (inout AttemptRequest) -> Void = { _ in }
  ) throws -> [[UInt8]] {
    let target = try UpstreamTarget(
      name: "default", url: UpstreamURL("http://127.0.0.1"), headers: fixed)
    var headers = OutgoingHeaders()
    var request = AttemptRequest(
      serial: 1, id: exampleID, client: "device-7", attempt: 3,
      acceptedAt: WallTime(millisecondsSinceEpoch: 1_700_000_000_000), target: target,
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: block, body: .inline([])))
    change(&request)
    headers.rebuild(for: request)
    #expect(headers.starts == lineStarts(headers.text))
    return headers.text.dropLast().split(separator: 0, omittingEmptySubsequences: false).map(
      Array.init)
  }

  private func lineStarts(_ text: [UInt8]) -> [Int] {
    [0] + text.indices.dropLast().filter { text[$0] == 0 }.map { $0 + 1 }
  }
}

/// An envelope's id, for tests to which it does not matter.
let exampleID = EnvelopeID(
  serial: 1, acceptedAt: WallTime(millisecondsSinceEpoch: 1_700_000_000_000), random: 42)
