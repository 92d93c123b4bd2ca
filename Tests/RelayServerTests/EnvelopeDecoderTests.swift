import JSON
import RelayCore
import RelayServer
import Testing

@Suite("An envelope in JSON")
struct EnvelopeDecoderTests {
  @Test("the least that is needed is a client and a path")
  func least() throws {
    let draft = try Fixture.decode(#"{"client":"truck-7","path":"/readings"}"#)
    #expect(draft.client == "truck-7")
    #expect(draft.lane == "default")
    #expect(draft.upstream == "default")
    #expect(draft.content.method == "POST")
    #expect(draft.content.target == Array("/readings".utf8))
    #expect(draft.content.headers.isEmpty)
    #expect(text(draft.content.body) == "")
    #expect(draft.key == nil && draft.fingerprint.isEmpty)
    #expect(draft.sequence == nil && draft.tag == nil && !draft.hold && draft.notBefore == nil)
    #expect(draft.expiresAt == Fixture.now.adding(milliseconds: 7 * Fixture.day))
    #expect(draft.onFailure == .skip)
  }

  @Test("every field is taken")
  func all() throws {
    let draft = try Fixture.decode(
      """
      {"key":"k1","client":"truck-7","upstream":"billing","method":"PUT","path":"/a?b=c%20d",
       "headers":{"X-One":"1","X-Many":["a"," b\\t"]},"bodyBase64":"AP8=","lane":"photos",
       "sequence":9007199254740991,"tag":"t","hold":true,"notBefore":"2026-03-01T13:00:00+01:00",
       "expiresAt":"2026-03-02T12:00:00Z","onFailure":"block"}
      """)
    #expect(draft.key == "k1" && draft.fingerprint.count == 32)
    #expect(draft.upstream == "billing" && draft.content.method == "PUT")
    #expect(draft.content.target == Array("/a?b=c%20d".utf8))
    #expect(text(draft.content.headers) == "X-One: 1\r\nX-Many: a\r\nX-Many: b\r\n")
    guard case .inline(let body) = draft.content.body else { return }
    #expect(body == [0, 255])
    #expect(draft.lane == "photos" && draft.sequence == 9_007_199_254_740_991)
    #expect(draft.tag == "t" && draft.hold && draft.onFailure == .block)
    #expect(draft.notBefore == Fixture.now)
    #expect(draft.expiresAt == Fixture.now.adding(milliseconds: Fixture.day))
  }

  @Test(
    "a body goes on as it was written, and gets a type if the sender gave none",
    arguments: [
      (#""body":"tä\nxt""#, "tä\nxt", "Content-Type: text/plain; charset=utf-8\r\n"),
      (#""body":{"a" : 4.20}"#, #"{"a" : 4.20}"#, "Content-Type: application/json\r\n"),
      (#""body":null"#, "null", "Content-Type: application/json\r\n"),
      (#""body": 1e2 "#, "1e2", "Content-Type: application/json\r\n"),
      (#""bodyBase64":"YQ==""#, "a", ""),
      (
        #""body":"x","headers":{"content-TYPE":"a/b","B":"c"}"#, "x",
        "content-TYPE: a/b\r\nB: c\r\n"
      ),
      (
        #""headers":{"B":"c"},"body":true"#, "true",
        "Content-Type: application/json\r\nB: c\r\n"
      ),
    ])
  func body(_ member: String, _ body: String, _ headers: String) throws {
    let draft = try Fixture.decode(#"{"client":"c","path":"/",\#(member)}"#)
    #expect(text(draft.content.body) == body)
    #expect(text(draft.content.headers) == headers)
  }

  @Test(
    "what cannot be used is refused by its pointer",
    arguments: [
      (#""key":"""#, "/key"), (#""key":"a b""#, "/key"), (#""key":"ü""#, "/key"),
      (#""key":null"#, "/key"), (#""client":7"#, "/client"), (#""lane":"""#, "/lane"),
      (#""tag":["a"]"#, "/tag"), (#""method":"G T""#, "/method"), (#""method":"""#, "/method"),
      (#""method":"CONNECT""#, "/method"), (#""method":"trace""#, "/method"),
      (#""sequence":0"#, "/sequence"),
      (#""sequence":1.5"#, "/sequence"), (#""sequence":9007199254740992"#, "/sequence"),
      (#""sequence":"1""#, "/sequence"), (#""hold":1"#, "/hold"), (#""hold":null"#, "/hold"),
      (#""notBefore":"tomorrow""#, "/notBefore"), (#""expiresAt":0"#, "/expiresAt"),
      (#""onFailure":"stop""#, "/onFailure"), (#""headers":[]"#, "/headers"),
      (#""headers":{"A B":"1"}"#, "/headers/A B"), (#""headers":{"":"1"}"#, "/headers/"),
      (#""headers":{"A":1}"#, "/headers/A"), (#""headers":{"A":[]}"#, "/headers/A"),
      (#""headers":{"A":["1",2]}"#, "/headers/A/1"), (#""headers":{"A":"\r\n"}"#, "/headers/A"),
      (#""headers":{"A":"\u0000"}"#, "/headers/A"), (#""headers":{"Host":"x"}"#, "/headers/Host"),
      (#""headers":{"via":"x"}"#, "/headers/via"), (#""headers":{"TE":"x"}"#, "/headers/TE"),
      (#""headers":{"Proxy-Authorization":"x"}"#, "/headers/Proxy-Authorization"),
      (#""headers":{"proxy-authenticate":"x"}"#, "/headers/proxy-authenticate"),
      (#""headers":{"content-length":"1"}"#, "/headers/content-length"),
      (#""headers":{"Waystation-Lane":"x"}"#, "/headers/Waystation-Lane"),
      (#""headers":{"A":"1","a":"2"}"#, "/headers/a"), (#""upstream":1"#, "/upstream"),
      (#""bodyBase64":"a""#, "/bodyBase64"), (#""bodyBase64":"YQ==\n""#, "/bodyBase64"),
      (#""bodyBase64":1"#, "/bodyBase64"), (#""body":1,"bodyBase64":"YQ==""#, "/bodyBase64"),
    ])
  func invalid(_ member: String, _ field: String) throws {
    let isClient = member.hasPrefix(#""client""#)
    let client = isClient ? "" : #""client":"c","#
    let problem = try #require(try Fixture.problem(#"{\#(client)"path":"/",\#(member)}"#))
    #expect(problem.kind == .invalidField, "\(problem)")
    #expect(problem.field == field)
    #expect(problem.status == 422)
  }

  @Test(
    "a path that could leave the base URL, or is no path, is refused",
    arguments: [
      "", "readings", "http://x/", "/a b", "/a\\\\b", "/a#b", "/ä", "/.", "/..", "/a/../b", "/./a",
      "/%2e%2E/a", "/a/.%2e", "/a%2f..%2fb", "/a/..%5cb", "/a/..;x=1/b", "/..?x", "/\\t",
      "/\\u007f",
    ])
  func badPath(_ path: String) throws {
    let problem = try #require(try Fixture.problem(#"{"client":"c","path":"\#(path)"}"#))
    #expect(problem.kind == .invalidField, "\(problem)")
    #expect(problem.field == "/path")
  }

  @Test(
    "dots that are no segment of their own are fine",
    arguments: [
      "/", "/a.b", "/...", "/..a", "/.well-known/x", "/a?b=../c", "/a//b", "/a/;x", "/%2e%2ea",
    ])
  func goodPath(_ path: String) throws {
    #expect(
      try Fixture.decode(#"{"client":"c","path":"\#(path)"}"#).content.target == Array(path.utf8))
  }

  @Test("an unknown field is refused by name, with the nearest known one")
  func unknown() throws {
    let problem = try #require(try Fixture.problem(#"{"client":"c","path":"/","notbefor":1}"#))
    #expect(problem.kind == .unknownField)
    #expect(problem.field == "/notbefor")
    #expect(problem.fix?.contains("notBefore") == true)
    let odd = try #require(try Fixture.problem(#"{"client":"c","path":"/","a/b~c":1}"#))
    #expect(odd.field == "/a~1b~0c")
  }

  @Test("what is missing is named")
  func missing() throws {
    #expect(try Fixture.problem(#"{"path":"/"}"#)?.field == "/client")
    let problem = try #require(try Fixture.problem(#"{"client":"c"}"#))
    #expect(problem.kind == .missingField && problem.field == "/path")
  }

  @Test("an upstream has to be configured; without a name it is the default one, or the only one")
  func upstream() throws {
    let unknown = try #require(
      try Fixture.problem(#"{"client":"c","path":"/","upstream":"nope"}"#))
    #expect(unknown.kind == .unknownUpstream && unknown.status == 422)
    #expect(unknown.field == "/upstream")
    let envelope = #"{"client":"c","path":"/"}"#
    #expect(try Fixture.decode(envelope, Fixture.configuration(["api"])).upstream == "api")
    let several = try Fixture.configuration(["api", "billing"])
    #expect(try Fixture.problem(envelope, several)?.kind == .missingField)
    #expect(try Fixture.problem(envelope, several)?.field == "/upstream")
  }

  @Test("the upstream's deadline and policy hold where the envelope says nothing")
  func terms() throws {
    let configuration = try Fixture.configuration {
      $0.upstreams[0].deadlineSeconds = 60
      $0.upstreams[0].onFailure = .block
    }
    let draft = try Fixture.decode(#"{"client":"c","path":"/"}"#, configuration)
    #expect(draft.expiresAt == Fixture.now.adding(milliseconds: 60_000))
    #expect(draft.onFailure == .block)
  }

  @Test("a body over the limit is refused, one at the limit is taken")
  func bodySize() throws {
    let configuration = try Fixture.configuration { $0.limits.bodyBytesMax = 4 }
    for member in [#""body":"1234""#, #""body":1234"#, #""bodyBase64":"MTIzNA==""#] {
      let draft = try Fixture.decode(#"{"client":"c","path":"/",\#(member)}"#, configuration)
      #expect(text(draft.content.body) == "1234")
    }
    for member in [#""body":"12345""#, #""body":12345"#, #""bodyBase64":"MTIzNDU=""#] {
      let problem = try Fixture.problem(#"{"client":"c","path":"/",\#(member)}"#, configuration)
      #expect(problem?.kind == .bodyTooLarge)
    }
  }

  @Test("header fields have a limit in number and in bytes")
  func headerLimits() throws {
    let configuration = try Fixture.configuration {
      $0.limits.headerCountMax = 2
      $0.limits.headerBytesMax = 256
    }
    let many = #"{"client":"c","path":"/","headers":{"A":["1","2","3"]}}"#
    #expect(try Fixture.problem(many, configuration)?.field == "/headers")
    let long =
      #"{"client":"c","path":"/","headers":{"A":"\#(String(repeating: "x", count: 300))"}}"#
    #expect(try Fixture.problem(long, configuration)?.field == "/headers")
  }

  @Test("what is no JSON is refused with its line and column, what is no object as such")
  func notJSON() throws {
    let problem = try #require(try Fixture.problem("{\"client\":\n \"c\",}"))
    #expect(problem.kind == .malformedJSON && problem.status == 400)
    #expect(problem.detail.hasPrefix("At line 2, column 6"))
    #expect(try Fixture.problem("[]")?.kind == .invalidField)
    #expect(try Fixture.problem("")?.kind == .malformedJSON)
    let twice = try #require(try Fixture.problem(#"{"client":"c","client":"c","path":"/"}"#))
    #expect(twice.kind == .malformedJSON && twice.field == "/client")
  }
}
