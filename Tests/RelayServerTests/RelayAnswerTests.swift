import HTTPServer
import RelayCore
import Testing

@testable import RelayServer

@Suite("What an answer means for an envelope that was handed on by itself")
struct RelayAnswerTests {
  private static func answer(
    _ text: String = "", status: Int, id: String? = nil
  ) -> RelayAnswer {
    var headers = HeaderBlock()
    if let id { headers.append(name: "Waystation-Id", value: id) }
    return RelayAnswer(
      UpstreamResponse(status: status, headers: headers, body: Array(text.utf8)))
  }

  private static func answer(_ problem: Problem) -> RelayAnswer {
    guard case .bytes(let bytes) = problem.response.body else { return answer(status: 500) }
    return answer(String(decoding: bytes, as: UTF8.self), status: problem.status)
  }

  @Test("an id, or the word for what was done, is a receipt")
  func receipt() {
    let id = "01a21554-fa6a-71d1-8000-0000007f2b6e"
    #expect(Self.answer(status: 202, id: id) == .receipt)
    for word in ["accepted", "duplicate", "coalesced"] {
      #expect(Self.answer(#"{"result": "\#(word)", "id": "\#(id)"}"#, status: 202) == .receipt)
    }
    #expect(Self.answer(#"{"result": "duplicate"}"#, status: 202) == .receipt, "forgotten there")
  }

  @Test("any other 2xx is none")
  func noReceipt() {
    for text in [
      "", "<html></html>", "{}", "[]", #"{"result": "void"}"#, #"{"result": "ok"}"#,
      #"{"result": 1}"#, #"{"result": "accepted"}"#, #"{"result": "accepted", "id": "x"}"#,
    ] {
      #expect(Self.answer(text, status: 200) == .noReceipt, "\(text)")
    }
    #expect(Self.answer("<html></html>", status: 200, id: "hello") == .noReceipt)
  }

  @Test("who has answered in a relay's place is seen by the status and the type of the body")
  func statusAndType() {
    var response = UpstreamResponse(status: 200, headers: HeaderBlock(), body: [])
    #expect(response.statusAndType == "200")
    response.headers.append(name: "Content-Type", value: "text/html; charset=utf-8")
    #expect(response.statusAndType == "200 with text/html; charset=utf-8")
  }

  @Test(
    "a coding that is not known is named, cut off and in visible ASCII",
    arguments: [
      ("br", "br"), ("br, BR;q", "br, br;q"), ("é", "??"),
      (String(repeating: "x", count: 100_000), String(repeating: "x", count: 60)),
      (String(repeating: "br,", count: 30_000), String(repeating: "br, ", count: 15)),
    ])
  func coding(value: String, shown: String) {
    var response = UpstreamResponse(status: 200, headers: HeaderBlock(), body: [0x5B, 0x5D])
    response.headers.append(name: "Content-Encoding", value: value)
    #expect(
      response.codingWords(bytesMax: 1)
        == "answered with a Content-Encoding that cannot be read: \(shown)")
  }

  @Test("a relay's problem with the envelope refuses it, and so does its size")
  func refusal() {
    for problem in [
      Problem.invalidField("path", "is none"), .keyConflict("k", id: nil, field: "key"),
      .sequencePassed(1, last: 2, field: "sequence"), .bodyTooLarge(bytesMax: 1),
    ] {
      #expect(Self.answer(problem) == .refusal, "\(problem.kind)")
    }
    for status in [413, 414, 431] { #expect(Self.answer(status: status) == .refusal) }
  }

  @Test("what is about the way to the relay, or comes from somebody else, refuses nothing")
  func unclear() {
    for problem in [
      Problem.unknownHost("a"), .notFound(), .methodNotAllowed(allow: "GET"),
      .crossSite("https://evil.example"), .badCredentials(),
    ] {
      #expect(Self.answer(problem) == .unclear, "\(problem.kind)")
    }
    for status in [301, 302, 400, 403, 404, 405, 411, 422, 429, 502, 503, 511] {
      #expect(Self.answer("no", status: status) == .unclear, "\(status)")
    }
    let text = #"{"type": "https://gateway.example/too-long"}"#
    #expect(Self.answer(text, status: 422) == .unclear)
  }
}
