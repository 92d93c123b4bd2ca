import RelayCore
import Testing

@testable import RelayServer

@Suite("What an answer says of an envelope alone, whose upstream takes several together")
struct AloneAnswerTests {
  private static func answer(
    _ body: String, status: Int = 200, isRequired: Bool = false
  ) -> BatchAnswer {
    var form = BatchForm(format: .ndjson, path: "/in", from: nil, bytesMax: 1000)
    form.requiresResults = isRequired
    return BatchAnswer(
      alone: UpstreamResponse(status: status, headers: HeaderBlock(), body: Array(body.utf8)),
      as: form, bodyBytesMax: 20)
  }

  private static func status(_ answer: BatchAnswer) -> Int? {
    guard case .each(let responses) = answer, responses.count == 1 else { return nil }
    return responses.first?.status
  }

  private static func whole(_ answer: BatchAnswer) -> UpstreamResponse? {
    guard case .whole(let response) = answer else { return nil }
    return response
  }

  @Test(
    "one result of a known form counts, in 207 and where results are required",
    arguments: [
      #"{"items": [{"status": 422}]}"#, "[422]", "422", #"{"status": "422"}"#,
      #"[{"create": {"status": 422}}]"#,
    ])
  func result(body: String) {
    #expect(Self.status(Self.answer(body, status: 207)) == 422)
    #expect(Self.status(Self.answer(body, isRequired: true)) == 422)
    #expect(Self.whole(Self.answer(body))?.status == 200)
  }

  @Test(
    "207 without one settles nothing; any other status counts, whatever the batch demands",
    arguments: [
      ("", false), ("OK", false), ("{", false), ("<multistatus/>", false), ("[201, 422]", true),
      (#"{"id": 7}"#, true), ("[]", true), (#"{"status": "error"}"#, true),
    ])
  func withoutResult(body: String, isThere: Bool) {
    for isRequired in [false, true] {
      switch Self.answer(body, status: 207, isRequired: isRequired) {
      case .unreadable: #expect(!isThere)
      case .unfitting: #expect(isThere, "it shows that the upstream is there")
      case .whole, .each: Issue.record("\(body) settles something")
      }
    }
    #expect(Self.whole(Self.answer(body, status: 201, isRequired: true))?.status == 201)
  }

  @Test("a refusal of the whole request is what it is, and little of an answer is kept")
  func whole() {
    #expect(Self.whole(Self.answer("[201]", status: 422, isRequired: true))?.status == 422)
    let long = Self.whole(Self.answer(String(repeating: "a", count: 100), isRequired: true))
    #expect(long?.body.count == 20 && long?.isTruncated == true)
  }
}
