import RelayCore
import Testing

@testable import RelayServer

@Suite("A request made of several envelopes")
struct BatchRequestTests {
  private static func form(
    _ format: BatchForm.Format = .ndjson, from: [String]? = nil, bytesMax: Int = 1000
  ) -> BatchForm {
    BatchForm(format: format, path: "/ingest?v=2", from: from, bytesMax: bytesMax)
  }

  /// An envelope with a number in a lane, and the rest as most have it.
  private struct Given {
    var serial: Serial
    var lane: Int64 = 1
    var body = #"{"a": 1}"#
    var method = "POST"
    var path = "/readings"
    var fields: [(String, String)] = [("Content-Type", "application/json")]
    var references = false
    var file = false
  }

  private static func entry(_ given: Given) -> LineEntry {
    LineEntry(
      serial: given.serial, client: ClientNumber(rawValue: 1),
      lane: LaneNumber(rawValue: given.lane), upstream: UpstreamNumber(rawValue: 1),
      acceptedAt: Fixture.now, expiresAt: Fixture.now, standing: .queued)
  }

  private static func request(
    _ given: [Given], as form: BatchForm = form(), bytesMax: Int? = nil
  ) -> BatchRequest {
    var contents: [Serial: DeliverableEnvelope] = [:]
    var entries: [LineEntry] = []
    for one in given {
      entries.append(entry(one))
      var headers = HeaderBlock()
      for (name, value) in one.fields { headers.append(name: name, value: value) }
      let body: EnvelopeBody =
        one.file
        ? .file(StoredBodyFile(path: "/x", byteCount: 8)) : .inline(Array(one.body.utf8))
      contents[one.serial] = DeliverableEnvelope(
        serial: one.serial,
        id: EnvelopeID(serial: one.serial, acceptedAt: Fixture.now, random: 1), client: "c",
        key: nil,
        content: EnvelopeContent(
          method: one.method, target: Array(one.path.utf8), headers: headers, body: body),
        references: one.references)
    }
    return BatchRequest(of: entries, contents, as: form, bytesMax: bytesMax)
  }

  private static func text(_ request: BatchRequest) -> String {
    String(decoding: request.body, as: UTF8.self)
  }

  @Test("bodies stand one a line, whatever line breaks they had between their parts")
  func lines() {
    let request = Self.request([
      Given(serial: 1, body: "{\"a\":\n 1}\r\n"), Given(serial: 2, body: "[\"x\\ny\"]"),
    ])
    #expect(Self.text(request) == "{\"a\":  1}\n[\"x\\ny\"]\n")
    #expect(request.members.map(\.serial) == [1, 2])
    let content = request.content
    #expect(content.method == "POST" && content.target == Array("/ingest?v=2".utf8))
    #expect(
      String(decoding: content.headers.bytes, as: UTF8.self)
        == "Content-Type: application/x-ndjson\r\n")
  }

  @Test("bodies stand as the elements of an array")
  func array() {
    let request = Self.request(
      [Given(serial: 1), Given(serial: 2, body: "7")], as: Self.form(.json))
    #expect(Self.text(request) == #"[{"a": 1},7]"#)
    #expect(
      String(decoding: request.content.headers.bytes, as: UTF8.self)
        == "Content-Type: application/json\r\n")
  }

  private static let lone: [(Given, String)] = [
    (Given(serial: 2, method: "PUT"), "another method"),
    (Given(serial: 2, path: "/readings?now"), "a query, which would be lost"),
    (Given(serial: 2, body: "{"), "a body that is no JSON"),
    (Given(serial: 2, body: ""), "no body"),
    (Given(serial: 2, fields: [("Content-Type", "text/plain")]), "another type"),
    (Given(serial: 2, fields: []), "no type"),
    (
      Given(
        serial: 2, fields: [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]),
      "an encoding"
    ),
    (Given(serial: 2, references: true), "references, which are filled in one by one"),
    (Given(serial: 2, file: true), "a large body, which is in a file"),
    (Given(serial: 2, body: "\"" + String(repeating: "x", count: 1000) + "\""), "too large a body"),
  ]

  @Test("an envelope that cannot share a request needs its own, and holds up only its own lane")
  func alone() {
    for (given, what) in Self.lone {
      let request = Self.request([
        Given(serial: 1), given, Given(serial: 3), Given(serial: 4, lane: 2),
      ])
      #expect(request.alone == [2], "\(what)")
      #expect(request.left == [3] && request.members.map(\.serial) == [1, 4], "\(what)")
    }
  }

  @Test("only the paths that are named go together")
  func paths() {
    let request = Self.request(
      [Given(serial: 1), Given(serial: 2, lane: 2, path: "/other"), Given(serial: 3, lane: 3)],
      as: Self.form(from: ["/readings"]))
    #expect(request.alone == [2] && request.members.map(\.serial) == [1, 3])
  }

  @Test("a request has one set of fields, but for those that are one envelope's own")
  func fields() {
    let json = ("Content-Type", "application/problem+json; charset=utf-8")
    let request = Self.request([
      Given(serial: 1, fields: [json, ("X-Site", "7"), ("Idempotency-Key", "a")]),
      Given(serial: 2, lane: 2, fields: [("Content-Type", "application/json"), ("X-Site", "7")]),
      Given(serial: 3, lane: 3, fields: [json, ("X-Site", "8")]),
      Given(serial: 4, lane: 3, fields: [json, ("X-Site", "7")]),
    ])
    #expect(request.members.map(\.serial) == [1, 2] && request.left == [3, 4])
    #expect(
      String(decoding: request.content.headers.bytes, as: UTF8.self)
        == "X-Site: 7\r\nContent-Type: application/x-ndjson\r\n")
  }

  @Test("a request stays within its bytes, and what does not fit goes the next time")
  func bytes() {
    for format in BatchForm.Format.allCases {
      let given = (1...20).map { Given(serial: Serial($0), lane: Int64($0)) }
      let request = Self.request(given, as: Self.form(format, bytesMax: 50))
      #expect(request.body.count <= 50 && request.members.count == 5, "\(format)")
      #expect(request.left.count == 15 && request.alone.isEmpty, "\(format)")
    }
  }

  @Test("one that fills a request to the last byte goes in it, and one byte more goes alone")
  func exactBytes() {
    for (format, extra) in [(BatchForm.Format.ndjson, 1), (.json, 2)] {
      let text = { (count: Int) in "\"" + String(repeating: "x", count: count - 2) + "\"" }
      let form = Self.form(format, bytesMax: 50)
      let full = Self.request([Given(serial: 1, body: text(50 - extra))], as: form)
      #expect(full.body.count == 50 && full.members.count == 1, "\(format)")
      let over = Self.request([Given(serial: 1, body: text(51 - extra))], as: form)
      #expect(over.alone == [1] && over.members.isEmpty, "\(format)")
    }
  }

  @Test("several stay within what the upstream takes, and one that is larger goes as the only one")
  func sharedBytes() {
    let large = "\"" + String(repeating: "x", count: 100) + "\""
    for (given, members) in [
      ([Given(serial: 1), Given(serial: 2, lane: 2), Given(serial: 3, lane: 3)], [Serial(1), 2]),
      ([Given(serial: 1, body: large), Given(serial: 2, lane: 2)], [1]),
    ] {
      let request = Self.request(given, bytesMax: 20)
      #expect(request.members.map(\.serial) == members && request.alone.isEmpty)
      #expect(request.left.count == given.count - members.count)
    }
  }

  @Test("what does not wait any more is told, and the rest of its lane goes")
  func vanished() {
    let entries = [Serial(1), 2].map { Self.entry(Given(serial: $0)) }
    let request = BatchRequest(of: entries, [:], as: Self.form())
    #expect(request.vanished == [1, 2] && request.members.isEmpty && request.body.isEmpty)
  }

  @Test("what cannot be read needs its own request, and nothing of its lane overtakes it")
  func unreadable() {
    let entries = [Serial(1), 2].map { Self.entry(Given(serial: $0)) }
    let request = BatchRequest(of: entries, [:], unreadable: [1], as: Self.form())
    #expect(request.alone == [1] && request.vanished == [2] && request.members.isEmpty)
  }

  @Test("envelopes that came by different relays go together, and the request is of this one alone")
  func ways() {
    let given = ["1.1 waystation-00000001", "1.1 waystation-00000002"].enumerated().map {
      Given(
        serial: Serial($0.offset + 1), lane: Int64($0.offset + 1),
        fields: [("Content-Type", "application/json"), ("Via", $0.element)])
    }
    let request = Self.request(given)
    #expect(request.members.count == 2 && request.content.headers.first("Via") == nil)
  }

  @Test("a request has one key as long as it has the same envelopes, unedited, in the same order")
  func key() {
    let one = Self.request([Given(serial: 1), Given(serial: 2)])
    #expect(
      one.idempotencyKey == Self.request([Given(serial: 1), Given(serial: 2)]).idempotencyKey)
    #expect(one.idempotencyKey.hasPrefix("batch-") && one.idempotencyKey.utf8.count == 38)
    let others = [
      Self.request([Given(serial: 1)]), Self.request([Given(serial: 2), Given(serial: 1)]),
      Self.request([Given(serial: 1), Given(serial: 2), Given(serial: 3)]),
      Self.request([Given(serial: 1, body: #"{"a": 2}"#), Given(serial: 2)]),
    ]
    #expect(Set(others.map(\.idempotencyKey) + [one.idempotencyKey]).count == 5)
  }
}
