import JSON
import RelayCore
import RelayServer
import Testing

@Suite("References to earlier answers")
struct ReferencedContentTests {
  private static let answer = #"""
    {"id":"a b/ü","n":42,"yes":true,"no":null,"list":[{"x":"y"}],"quote":"\"\\\n","dots":"..",
     "empty":"","crlf":"a\r\nEvil: 1"}
    """#

  private static func content(
    path: String = "/", type: String? = nil, headers: [(String, String)] = [], body: String = ""
  ) -> EnvelopeContent {
    var block = RelayCore.HeaderBlock()
    if let type { block.append(name: "Content-Type", value: type) }
    for (name, value) in headers { block.append(name: name, value: value) }
    return EnvelopeContent(
      method: "POST", target: Array(path.utf8), headers: block, body: .inline(Array(body.utf8)))
  }

  private static func answers(
    _ body: String = answer, isTruncated: Bool = false
  ) -> [String: ReferencedAnswer] {
    let response = UpstreamResponse(
      status: 201, headers: RelayCore.HeaderBlock(), body: Array(body.utf8),
      isTruncated: isTruncated)
    return ["k": .delivered(response)]
  }

  private func fill(_ content: EnvelopeContent) throws -> EnvelopeContent {
    try ReferencedContent(content).filled(from: Self.answers())
  }

  /// Why a request cannot be sent.
  private func fault(
    _ content: EnvelopeContent, _ answers: [String: ReferencedAnswer] = answers()
  ) throws -> String? {
    let content = try ReferencedContent(content)
    do throws(ReferenceFault) {
      _ = try content.filled(from: answers)
      return nil
    } catch {
      return error.detail
    }
  }

  @Test(
    "in a path, a value is percent-encoded",
    arguments: [
      "/o/{{response:k#/id}}/x?n={{response:k#/n}}",
      "/o/%7B%7Bresponse:k%23/id%7D%7D/x?n=%7b%7bresponse%3Ak%23%2Fn%7d%7d",
    ])
  func path(path: String) throws {
    let filled = try fill(Self.content(path: path))
    #expect(String(decoding: filled.target, as: UTF8.self) == "/o/a%20b%2F%C3%BC/x?n=42")
  }

  @Test("a header field takes a value as it is, but no control character")
  func headers() throws {
    let filled = try fill(
      Self.content(headers: [
        ("X-Id", "<{{response:k#/list/0/x}}>"), ("X-Ok", "{{response:k#/yes}}"),
      ]))
    #expect(text(filled.headers) == "X-Id: <y>\r\nX-Ok: true\r\n")
    let fault = try fault(Self.content(headers: [("X", "{{response:k#/crlf}}")]))
    #expect(fault?.contains("control character") == true)
  }

  @Test(
    "in JSON, a value is escaped within its string, and all else stays as it was written",
    arguments: [
      (
        #"{"a" : 1.0, "b":"<{{response:k#/quote}}>", "c":"\u0041"}"#,
        #"{"a" : 1.0, "b":"<\"\\\n>", "c":"\u0041"}"#
      ),
      // Some writers escape slashes.
      (#"["{{response:k#\/list\/0\/x}}","{{response:k#/n}}"]"#, #"["y","42"]"#),
      (#"{"{{response:k#/n}}":"{\"{"}"#, #"{"42":"{\"{"}"#),
      (#"{"a":""}"#, #"{"a":""}"#),
    ])
  func json(body: String, expected: String) throws {
    for type in ["application/json", "application/vnd.x+json; charset=utf-8"] {
      let filled = try fill(Self.content(type: type, body: body))
      #expect(text(filled.body) == expected)
    }
  }

  @Test("lines of JSON are JSON as well")
  func lines() throws {
    let filled = try fill(
      Self.content(
        type: "application/x-ndjson", body: "{\"a\":\"{{response:k#/quote}}\"}\n\n{\"b\":2}\n"))
    #expect(text(filled.body) == "{\"a\":\"\\\"\\\\\\n\"}\n\n{\"b\":2}\n")
  }

  @Test("text takes a value as it is, a form percent-encoded, and other bytes are not looked at")
  func otherTypes() throws {
    let body = "a={{response:k#/id}}"
    #expect(text(try fill(Self.content(type: "text/plain", body: body)).body) == "a=a b/ü")
    let form = "application/x-www-form-urlencoded"
    #expect(
      text(try fill(Self.content(type: form, body: body)).body) == "a=a%20b%2F%C3%BC")
    for type in ["application/octet-stream", nil] {
      let content = Self.content(type: type, body: "{{")
      #expect(try ReferencedContent(content).references.isEmpty)
      #expect(try fill(content) == content)
    }
  }

  @Test(
    "what cannot be filled is told",
    arguments: [
      ("/{{response:k#/nothing}}", "has nothing at this place"),
      ("/{{response:k#/list}}", "stands an array"), ("/{{response:k#}}", "stands an object"),
      ("/{{response:k#/no}}", "stands null"), ("/{{response:k#/empty}}", "empty text"),
      ("/{{response:k#/dots}}/x", "segment"),
      ("/{{response:other#/id}}", "no envelope of this key"),
    ])
  func unfillable(path: String, words: String) throws {
    let fault = try #require(try fault(Self.content(path: path)))
    #expect(fault.contains(words), "\(fault)")
  }

  @Test("only a whole JSON answer of an earlier, delivered envelope of the lane will do")
  func answersThatWillNotDo() throws {
    let content = Self.content(path: "/{{response:k#/id}}")
    let cases: [(ReferencedAnswer, String)] = [
      (.elsewhere, "another lane"), (.notEarlier, "no earlier one"),
      (.undelivered(.failed), "is failed, not delivered"), (.delivered(nil), "no answer was kept"),
    ]
    for (answer, words) in cases {
      #expect(try fault(content, ["k": answer])?.contains(words) == true)
    }
    #expect(try fault(content, Self.answers("<html>"))?.contains("is no JSON") == true)
    let cut = Self.answers(isTruncated: true)
    #expect(try fault(content, cut)?.contains("longer than what is kept") == true)
    let long = Self.answers(#"{"id":"\#(String(repeating: "x", count: 8193))"}"#)
    #expect(try fault(content, long)?.contains("over 8192 bytes") == true)
  }

  @Test(
    "a reference that cannot be read is refused at once",
    arguments: [
      "{{response:k#/id", "{{}}", "{{name}}", "{{response:k}}", "{{response:#/id}}",
      "{{response:k#id}}", "{{response:k#/~2}}", "{{Response:k#/id}}",
    ])
  func malformed(text: String) throws {
    let contents = [
      Self.content(path: "/a/" + text), Self.content(headers: [("X", text)]),
      Self.content(type: "text/plain", body: text),
      Self.content(type: "application/json", body: "[\"\(text)\"]"),
    ]
    for content in contents {
      #expect(throws: ReferenceFault.self) { _ = try ReferencedContent(content) }
    }
  }

  @Test("a reference outside of JSON's strings, a large text and too many are refused")
  func limits() throws {
    let outside = Self.content(type: "application/json", body: #"{"n":{{response:k#/n}}}"#)
    #expect(throws: ReferenceFault.self) { _ = try ReferencedContent(outside) }
    let large = Self.content(type: "text/plain", body: "12345")
    #expect(throws: ReferenceFault.self) { _ = try ReferencedContent(large, bodyBytesMax: 4) }
    #expect(try ReferencedContent(large, bodyBytesMax: 5).references.isEmpty)
    let many = String(repeating: "{{response:k#/n}}", count: Reference.countMax)
    #expect(
      try ReferencedContent(Self.content(type: "text/plain", body: many)).references.count
        == Reference.countMax)
    let tooMany = Self.content(path: "/{{response:k#/n}}", type: "text/plain", body: many)
    #expect(throws: ReferenceFault.self) { _ = try ReferencedContent(tooMany) }
  }

  // MARK: - At acceptance

  @Test("references are off unless the envelope asks for them")
  func off() throws {
    let plain = try Fixture.decode(#"{"client":"c","path":"/","body":"{{"}"#)
    #expect(!plain.references)
    let problem = try Fixture.problem(#"{"client":"c","path":"/{{response:k#/id}}"}"#)
    #expect(problem?.field == "/path")
    let on = try Fixture.decode(
      #"{"references":true,"client":"c","path":"/{{response:k#/id}}","body":["{{response:k#/b}}"]}"#
    )
    #expect(on.references && on.content.target == Array("/{{response:k#/id}}".utf8))
  }

  @Test(
    "a malformed one is refused where it stands",
    arguments: [
      (#""path":"/{{x}}""#, "/path"), (#""path":"no{{response:k#/id}}""#, "/path"),
      (#""path":"/","headers":{"X-A":"{{"}"#, "/headers/X-A"),
      (#""path":"/","body":{"a":"{{x}}"}"#, "/body"), (#""path":"/","body":"{{x}}""#, "/body"),
    ])
  func refused(members: String, field: String) throws {
    let problem = try Fixture.problem(#"{"client":"c","references":true,\#(members)}"#)
    #expect(problem?.kind == .invalidField && problem?.field == field)
    #expect(problem?.fix?.contains("{{response:KEY#/pointer}}") == true)
  }

  @Test("with and without references, the same words are different envelopes")
  func fingerprints() throws {
    let with = try Fixture.decode(#"{"client":"c","key":"k","path":"/","references":true}"#)
    let without = try Fixture.decode(#"{"client":"c","key":"k","path":"/","references":false}"#)
    #expect(with.fingerprint != without.fingerprint)
  }

  @Test("a relayed request says so in a field of its own")
  func relayed() throws {
    let target = "/v1/relay/default/o/%7B%7Bresponse:k%23/id%7D%7D"
    let decoded = try Fixture.relay(target, ["Waystation-References: true"])
    #expect(decoded.draft.references)
    #expect(try ReferencedContent(decoded.draft.content).references.map(\.key) == ["k"])
    #expect(throws: Problem.self) {
      _ = try Fixture.relay(
        "/v1/relay/default/o", ["Waystation-References: true", "X-A: {{nothing}}"])
    }
    #expect(throws: Problem.self) {
      _ = try Fixture.relay("/v1/relay/default/o", ["Waystation-References: yes"])
    }
  }
}
