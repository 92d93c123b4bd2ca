import RelayCore
import Testing

@testable import RelayServer

@Suite("What an answer says of several envelopes")
struct BatchAnswerTests {
  private static func answer(
    _ body: String, status: Int = 200, count: Int = 2, isTruncated: Bool = false
  ) -> BatchAnswer {
    let response = UpstreamResponse(
      status: status, headers: HeaderBlock(), body: Array(body.utf8), isTruncated: isTruncated)
    return BatchAnswer(response, count: count, bodyBytesMax: 20)
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
    ])
  func each(body: String) {
    for status in [200, 202, 207] {
      #expect(Self.statuses(Self.answer(body, status: status)) == [201, 422])
    }
  }

  private static func answer(ofRelay body: String, status: Int = 202) -> BatchAnswer {
    let response = UpstreamResponse(
      status: status, headers: HeaderBlock(), body: Array(body.utf8), isTruncated: false)
    return BatchAnswer(ofRelay: response, count: 2, bodyBytesMax: 200)
  }

  @Test("another relay's results are ids, and problems with their statuses and waits")
  func ofRelay() throws {
    let text = """
      {"results": [{"index": 0, "result": "duplicate", "id": "x", "state": "queued"},
      {"index": 1, "result": "rejected", "problem": {"status": 429, "retryAfterSeconds": 7}}]}
      """
    for status in [202, 422] {
      guard case .each(let responses) = Self.answer(ofRelay: text, status: status) else {
        Issue.record("no results")
        continue
      }
      #expect(responses.map(\.status) == [202, 429])
      #expect(String(decoding: responses[0].body, as: UTF8.self).contains(#""id": "x""#))
      #expect(responses[1].headers.first("Retry-After") == "7")
    }
  }

  @Test("an answer without another relay's results settles none, or is a refusal of all")
  func ofNoRelay() {
    for text in [
      "", "OK", "[200, 200]", #"{"results": [{"result": "accepted"}]}"#,
      #"{"results": [{"result": "rejected"}, {"result": "accepted"}]}"#,
    ] {
      guard case .unreadable = Self.answer(ofRelay: text) else {
        Issue.record("\(text) settles something")
        continue
      }
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

  @Test(
    "another answer with 2xx is for all of them",
    arguments: ["", "ok", "{}", "[]", "[\"a\", \"b\"]", #"{"items": []}"#, #"{"stored": 2}"#, "{"])
  func whole(body: String) {
    guard case .whole(let response) = Self.answer(body) else {
      Issue.record("\(body) is not for all")
      return
    }
    #expect(response.status == 200)
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
      ("", 207), ("{}", 207),
    ])
  func unreadable(body: String, status: Int) {
    guard case .unreadable = Self.answer(body, status: status) else {
      Issue.record("\(body) settles something")
      return
    }
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
    #expect(one.body.count == 5000)
  }
}
