import Compression
import Forwarder
import RelayCore
import Testing

@testable import RelayServer

@Suite("What an answer says of several envelopes")
struct BatchAnswerTests {
  private static func answer(
    _ body: String, status: Int = 200, count: Int = 2, isTruncated: Bool = false,
    headers: HeaderBlock = HeaderBlock(), isRequired: Bool = false
  ) -> BatchAnswer {
    let response = UpstreamResponse(
      status: status, headers: headers, body: Array(body.utf8), isTruncated: isTruncated)
    var form = BatchForm(format: .ndjson, path: "/in", from: nil, bytesMax: 1000)
    form.requiresResults = isRequired
    return BatchAnswer(response, to: form, count: count, bodyBytesMax: 20)
  }

  private static func statuses(_ answer: BatchAnswer) -> [Int]? {
    guard case .each(let responses) = answer else { return nil }
    return responses.map(\.status)
  }

  @Test(
    "results for each are an array, or items, of statuses, or of objects with one",
    arguments: [
      "[201, 422]", #"[{"status": 201}, {"status": 422, "error": "x"}]"#,
      #" {"took": 3, "items": [{"status": 201}, {"status": 422}]}"#,
      #"{"errors": true, "items": [{"index": {"status": 201}}, {"create": {"status": 422}}]}"#,
      "\u{FEFF}[201, 422]", "{\"status\": 201}\r\n{\"status\": 422}\r\n", "{\"status\":201}\n422",
      "201\n422\n", #"[{"status": "201"}, {"status": "422"}]"#, #"["201", "422"]"#,
    ])
  func each(body: String) {
    for status in [200, 202, 207] {
      #expect(Self.statuses(Self.answer(body, status: status)) == [201, 422])
    }
  }

  private static func answer(ofRelay body: String, status: Int = 202) -> BatchAnswer {
    let response = UpstreamResponse(
      status: status, headers: HeaderBlock(), body: Array(body.utf8), isTruncated: false)
    let form = BatchForm(
      format: .waystation, path: "/v1/envelopes", from: nil, bytesMax: 1000, upstream: "a")
    return BatchAnswer(response, to: form, count: 2, bodyBytesMax: 200)
  }

  @Test("another relay's results are ids, and problems with their statuses and waits")
  func ofRelay() throws {
    let text = """
      {"results": [{"index": 0, "result": "duplicate", "id": "x", "state": "queued"},
      {"index": 1, "result": "rejected", "problem": {"type": "urn:x:y", "status": 429,
      "retryAfterSeconds": 7}}]}
      """
    for status in [202, 422] {
      guard case .each(let responses) = Self.answer(ofRelay: text, status: status) else {
        Issue.record("no results")
        continue
      }
      #expect(responses.map(\.status) == [202, 429])
      #expect(String(decoding: responses[0].body, as: UTF8.self).contains(#""id": "x""#))
      #expect(responses[1].headers.first("Retry-After") == "7")
      #expect(responses[0].headers.first("Content-Type") == "application/json")
      #expect(responses[1].headers.first("Content-Type") == "application/problem+json")
    }
  }

  @Test("an answer without another relay's results settles none, or is a refusal of all")
  func ofNoRelay() {
    for text in [
      "", "OK", "[200, 200]", #"{"results": [{"result": "accepted"}]}"#,
      #"{"results": [{"result": "rejected"}, {"result": "accepted"}]}"#,
      #"{"results": [{"result": "postponed"}, {"result": "accepted"}]}"#,
      #"{"results": [{"index": 1, "result": "accepted"}, {"index": 0, "result": "accepted"}]}"#,
      #"{"results": [{"result": "accepted", "id": "x"}, {"result": "void"}]}"#,
    ] {
      #expect(Self.reason(Self.answer(ofRelay: text)) != nil, "\(text) settles something")
    }
    for status in [401, 413, 422, 429, 503] {
      guard case .whole(let response) = Self.answer(ofRelay: "{}", status: status) else {
        Issue.record("\(status) is read as results")
        continue
      }
      #expect(response.status == status)
    }
  }

  @Test("each keeps its own result as its answer, up to the limit")
  func bodies() {
    guard
      case .each(let responses) = Self.answer(
        #"[{"status":201},{"status":422,"reason":"a long one"}]"#)
    else {
      Issue.record("no results")
      return
    }
    #expect(String(decoding: responses[0].body, as: UTF8.self) == #"{"status":201}"#)
    #expect(!responses[0].isTruncated && responses[1].isTruncated)
    #expect(responses[1].body.count == 20)
  }

  private static let problems: [(result: String, problem: String)] = [
    (#"{"status": 422, "problem": {"title": "no"}}"#, #"{"title": "no"}"#),
    (#"{"put": {"status": 422, "problem": {"a": 1}}}"#, #"{"a": 1}"#),
    (#"{"put": {"status": 409, "errorId": "E7"}}"#, #"{"status": 409, "errorId": "E7"}"#),
    (#"{"status": 422, "detail": "too old"}"#, #"{"status": 422, "detail": "too old"}"#),
    (
      #"{"status": 400, "type": "https://e.example/old"}"#,
      #"{"status": 400, "type": "https://e.example/old"}"#
    ),
  ]

  @Test("a problem document in a result is that envelope's answer, as one")
  func problems() {
    for (result, problem) in Self.problems {
      let responses = Self.responses("[201, \(result)]")
      #expect(responses.map { String(decoding: $0.body, as: UTF8.self) } == ["201", problem])
      #expect(
        responses.map { $0.headers.first("Content-Type") }
          == ["application/json", "application/problem+json"])
    }
  }

  @Test(
    "another result is JSON as it came",
    arguments: [
      "422", #"{"status": 422, "type": "reading"}"#, #"{"status": 422, "problem": "no"}"#,
      #"{"status": 201, "title": "stored"}"#, #"{"put": {"status": 422, "error": {}}}"#,
    ])
  func noProblem(result: String) {
    let responses = Self.responses("[201, \(result)]")
    #expect(responses.last.map { String(decoding: $0.body, as: UTF8.self) } == result)
    #expect(responses.last?.headers.first("Content-Type") == "application/json")
  }

  private static func responses(_ body: String) -> [UpstreamResponse] {
    let response = UpstreamResponse(status: 207, headers: HeaderBlock(), body: Array(body.utf8))
    let form = BatchForm(format: .ndjson, path: "/in", from: nil, bytesMax: 1000)
    guard
      case .each(let responses) = BatchAnswer(
        response, to: form, count: 2, bodyBytesMax: 200)
    else {
      return []
    }
    return responses
  }

  @Test(
    "another answer with 2xx is for all of them",
    arguments: [
      "", "ok", "{}", "[]", "[\"a\", \"b\"]", #"{"items": []}"#, #"{"stored": 2}"#,
      #"{"status": 200}"#, "[1001, 1002]", "[1, 2]",
    ])
  func whole(body: String) {
    guard case .whole(let response) = Self.answer(body) else {
      Issue.record("\(body) is not for all")
      return
    }
    #expect(response.status == 200)
  }

  @Test(
    "a status that is none of HTTP's settles none: it may be a refusal",
    arguments: [
      #"[{"status": 600}, {"status": 0}]"#, #"{"items": [{"status": "1"}, {"status": "2"}]}"#,
      "[600, 999]", "[0, 101]", #"["199", "600"]"#,
    ])
  func otherStatuses(body: String) {
    #expect(Self.reason(Self.answer(body)) == "answered results whose status is none of HTTP's")
  }

  /// Why an answer settles none; nil if it settles something.
  private static func reason(_ answer: BatchAnswer) -> String? {
    switch answer {
    case .unreadable(let reason), .unfitting(let reason): reason
    case .whole, .each: nil
    }
  }

  @Test("JSON that settles none shows that the upstream is there; what cannot be read does not")
  func unfitting() {
    for body in [
      #"{"status": "error"}"#, "{}", "[]", "7", #"[{"status": 200}, {"status": "error"}]"#,
      "[200, 200, 200]", #"[{"status": 600}]"#, "{\"a\": 1}\n{\"b\": 2}",
    ] {
      for (count, status) in [(1, 200), (2, 200), (1, 207)] {
        guard count != 1 || body != "7" else { continue }
        let answer = Self.answer(body, status: status, count: count, isRequired: true)
        guard case .unfitting = answer else {
          Issue.record("\(body) for \(count), \(status)")
          continue
        }
      }
    }
    for body in ["", "ok", "<html></html>", "[200, ", #"{"status": "error""#] {
      guard case .unreadable = Self.answer(body, isRequired: true) else {
        Issue.record("\(body) can be read")
        continue
      }
    }
    guard
      case .unfitting = Self.answer(
        ofRelay: #"{"results": [{"result": "void"}, {"result": "void"}]}"#),
      case .unreadable = Self.answer(ofRelay: "{}")
    else {
      Issue.record("another relay's results are read otherwise")
      return
    }
  }

  @Test("another relay's results in another order are told as such")
  func otherOrder() {
    let text = #"{"results": [{"index": 1, "result": "stored"}, {"index": 0, "result": "stored"}]}"#
    #expect(
      Self.reason(Self.answer(ofRelay: text))
        == "answered results that are not a relay's, or in another order")
  }

  @Test("an answer that refuses or fails is for all of them, whatever it says of each")
  func refusal() {
    for status in [302, 400, 413, 500] {
      guard case .whole(let response) = Self.answer("[201, 422]", status: status) else {
        Issue.record("\(status) is not for all")
        continue
      }
      #expect(response.status == status)
    }
  }

  @Test(
    "results that do not fit the envelopes settle none of them",
    arguments: [
      ("[201]", 200), ("[201, 201, 201]", 200), (#"[{"status": 201}, {"ok": true}]"#, 200),
      ("", 207), ("{}", 207), ("{", 200), ("[201, 422", 200), (#"{"status": 422}"#, 200),
      ("{\"status\": 422}\n", 200), ("{\"status\": 201}\n{\"status", 200),
    ])
  func unreadable(body: String, status: Int) {
    #expect(Self.reason(Self.answer(body, status: status)) != nil, "\(body) settles something")
  }

  @Test("an answer in gzip is read; any other coding settles none, since nobody knows what it says")
  func encoded() throws {
    var headers = HeaderBlock()
    headers.append(name: "Content-Encoding", value: "gzip")
    guard case .unreadable = Self.answer("\u{1F}", headers: headers),
      case .whole = Self.answer("", headers: headers)
    else {
      Issue.record("it was read")
      return
    }
    let response = UpstreamResponse(
      status: 200, headers: headers, body: try GzipEncoder.encode(Array("[201, 422]".utf8)))
    let form = BatchForm(format: .ndjson, path: "/in", from: nil, bytesMax: 1000)
    let answer = BatchAnswer(response, to: form, count: 2, bodyBytesMax: 20)
    #expect(Self.statuses(answer) == [201, 422])
  }

  @Test(
    "one coding is undone, whatever says beside it that there is none; several are not",
    arguments: [
      (["x-gzip"], true), (["GZIP, identity"], true), (["identity", "gzip"], true),
      (["gzip, gzip"], false), (["gzip", "gzip"], false), (["br"], false), (["gzip, br"], false),
    ])
  func codings(fields: [String], isRead: Bool) throws {
    var headers = HeaderBlock()
    for field in fields { headers.append(name: "Content-Encoding", value: field) }
    let text = Array("[201, 422]".utf8)
    let response = UpstreamResponse(
      status: 200, headers: headers, body: try GzipEncoder.encode(text))
    let unpacked = response.unpacked(hiding: CredentialMask(), token: nil, bytesMax: 1000)
    #expect((unpacked.body == text) == isRead)
    #expect(unpacked.headers.has("Content-Encoding") != isRead, "the rest stays as it was")
  }

  @Test(
    "of an answer with far more results or lines than envelopes, no more is read than shows that")
  func endless() {
    for body in [String(repeating: "200\n", count: 500_000), "[200,200,200,{]"] {
      #expect(Self.reason(Self.answer(body)) != nil)
    }
  }

  @Test("of another relay's results, too, no more are read than show that there are too many")
  func endlessOfRelay() {
    let results = String(repeating: "0,", count: 500_000) + "0"
    #expect(
      Self.reason(Self.answer(ofRelay: #"{"results": [\#(results)]}"#))
        == "answered more results than the 2 envelopes")
  }

  @Test("of a packed answer, as much is unpacked as so many results may need")
  func packed() throws {
    var headers = HeaderBlock()
    headers.append(name: "Content-Encoding", value: "gzip")
    var form = BatchForm(format: .ndjson, path: "/in", from: nil, bytesMax: 1000)
    form.requiresResults = true
    for (blanks, isRead) in [(100_000, true), (300_000, false)] {
      let text = "[201, 422" + String(repeating: " ", count: blanks) + "]"
      let response = UpstreamResponse(
        status: 200, headers: headers, body: try GzipEncoder.encode(Array(text.utf8)))
      let answer = BatchAnswer(response, to: form, count: 2, bodyBytesMax: 20)
      #expect((Self.statuses(answer) == [201, 422]) == isRead)
      guard case .unreadable(let reason) = answer else { continue }
      #expect(reason.hasSuffix("gzip that is damaged, or has more than 196608 bytes"), "\(reason)")
    }
    #expect(BatchAnswer.unpackedBytesMax(count: 1, bodyBytesMax: 200_000) == 400_000)
    #expect(BatchAnswer.unpackedBytesMax(count: 1000, bodyBytesMax: 1 << 30) == 4 << 20)
  }

  @Test("where answers have no results, any 2xx is for all, but for 207")
  func unread() {
    var form = BatchForm(format: .json, path: "/in", from: nil, bytesMax: 1000)
    form.hasNoResults = true
    for (status, isWhole) in [(200, true), (207, false)] {
      let response = UpstreamResponse(
        status: status, headers: HeaderBlock(), body: Array("[201, 422]".utf8))
      let answer = BatchAnswer(response, to: form, count: 2, bodyBytesMax: 20)
      #expect((Self.statuses(answer) == nil) == isWhole)
    }
  }

  @Test("an answer to one envelope that cannot be read counts by its status, or by its own result")
  func one() {
    guard case .whole = Self.answer("{", count: 1),
      case .unreadable = Self.answer("[1", status: 207)
    else {
      Issue.record("it waits for what will not come")
      return
    }
    for (body, status) in [(#"{"status": 422}"#, 422), ("{\"status\": 201}\n", 201), ("422", 422)] {
      #expect(Self.statuses(Self.answer(body, count: 1, isRequired: true)) == [status])
    }
  }

  @Test(
    "where results are required, an answer without them settles none",
    arguments: ["", "ok", "{}", "[]", #"{"stored": 2}"#])
  func required(body: String) {
    for count in [1, 2] {
      let answer = Self.answer(body, count: count, isRequired: true)
      #expect(Self.reason(answer) != nil, "\(body) settles \(count)")
    }
    #expect(Self.statuses(Self.answer("[201, 422]", isRequired: true)) == [201, 422])
  }

  @Test("an answer that was cut off settles none of them if it can have results")
  func truncated() {
    guard case .unreadable = Self.answer("[201, ", isTruncated: true),
      case .whole = Self.answer("stored, and a long text", isTruncated: true)
    else {
      Issue.record("a cut off answer was read")
      return
    }
  }

  @Test("an answer for several is kept in short")
  func shared() {
    let text = String(repeating: "x", count: 5000)
    guard case .whole(let several) = Self.answer(text),
      case .whole(let one) = Self.answer(text, count: 1)
    else {
      Issue.record("not for all")
      return
    }
    #expect(several.body.count == BatchAnswer.sharedBodyBytesMax && several.isTruncated)
    #expect(one.body.count == 20 && one.isTruncated, "as much as of any answer to one")
  }

  @Test("of a long head that is for several, what says something of the body or of a wait is kept")
  func sharedHead() {
    var headers = HeaderBlock()
    for number in 0..<20 {
      headers.append(name: "X-Long-\(number)", value: String(repeating: "x", count: 100))
    }
    headers.append(name: "Retry-After", value: "7")
    guard case .whole(let several) = Self.answer("", status: 503, headers: headers),
      case .whole(let one) = Self.answer("", status: 503, count: 1, headers: headers)
    else {
      Issue.record("not for all")
      return
    }
    #expect(several.headers.bytes.count <= BatchAnswer.sharedHeaderBytesMax)
    #expect(several.headers.first("Retry-After") == "7" && several.headers.first("X-Long-0") != nil)
    #expect(one.headers == headers)
  }
}
