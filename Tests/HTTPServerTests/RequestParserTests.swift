import Testing

@testable import HTTPServer

@Suite("Reading request heads")
struct RequestParserTests {
  static let sample = """
    POST /v1/relay/a%20b?x=1&y HTTP/1.1\r
    Host: relay.example:8080\r
    content-TYPE:\t application/json \t\r
    X-Empty:\r
    X-Bytes: caf\u{e9} \u{1F600}\r
    Content-Length: 11\r
    X-Twice: 1\r
    x-twice: 2\r
    \r\n
    """

  private func expectSample(_ head: RequestHead) {
    #expect(head.method == .post)
    #expect(head.version == .http11)
    #expect(Parsing.text(head.target) == "/v1/relay/a%20b?x=1&y")
    #expect(Parsing.text(head.path) == "/v1/relay/a%20b")
    #expect(Parsing.text(head.query) == "x=1&y")
    #expect(head.fields.count == 7)
    #expect(head.string(of: "Content-Type") == "application/json")
    #expect(head.string(of: "x-EMPTY") == "")
    #expect(head.string(of: "X-Bytes") == "caf\u{e9} \u{1F600}")
    #expect(head.values(of: "X-Twice").map { Parsing.text($0) } == ["1", "2"])
    #expect(head.count(of: "X-TWICE") == 2)
    #expect(head.value(of: "X-Missing") == nil)
    #expect(head.framing == .length(11))
    #expect(head.wantsKeepAlive)
    #expect(!head.expectsContinue)
  }

  @Test("a head is read whole, with what follows it left alone")
  func whole() throws {
    let bytes = Array((Self.sample + "hello world").utf8)
    var parser = RequestParser(limits: HTTPLimits())
    guard case .complete(let head, let end) = parser.parse(bytes, 0..<bytes.count) else {
      Issue.record("not complete")
      return
    }
    #expect(end == Self.sample.utf8.count)
    expectSample(head)
  }

  @Test("a head that is cut at any byte is read the same, wherever the buffer has moved")
  func splitAtEveryByte() throws {
    let bytes = Array(Self.sample.utf8)
    for cut in 0..<bytes.count {
      var parser = RequestParser(limits: HTTPLimits())
      guard case .needMore = parser.parse(bytes, 0..<cut) else {
        Issue.record("cut at \(cut): not asking for more")
        continue
      }
      let moved = [0, 0, 0] + bytes
      guard case .complete(let head, let end) = parser.parse(moved, 3..<moved.count) else {
        Issue.record("cut at \(cut): not complete")
        continue
      }
      #expect(end == moved.count)
      expectSample(head)
    }
  }

  @Test("a head that comes byte by byte is read the same")
  func byteByByte() throws {
    let bytes = Array(Self.sample.utf8)
    var parser = RequestParser(limits: HTTPLimits())
    for end in 1..<bytes.count {
      guard case .needMore = parser.parse(bytes, 0..<end) else {
        Issue.record("at \(end): not asking for more")
        return
      }
    }
    guard case .complete(let head, _) = parser.parse(bytes, 0..<bytes.count) else {
      Issue.record("not complete")
      return
    }
    expectSample(head)
  }

  @Test("every refusal comes out the same however the bytes are split", arguments: Hostile.all)
  func refusalsWhenSplit(_ hostile: Hostile) {
    let bytes = Array(hostile.text.utf8)
    var parser = RequestParser(limits: HTTPLimits())
    for end in 0...bytes.count {
      if let status = Parsing.refusal(parser.parse(bytes, 0..<end)) {
        #expect(status == hostile.status, "\(hostile.name)")
        return
      }
    }
    Issue.record("\(hostile.name): taken")
  }

  @Test("what is ambiguous or broken is refused with its status", arguments: Hostile.all)
  func refusals(_ hostile: Hostile) {
    #expect(Parsing.refusal(Parsing.parse(hostile.text)) == hostile.status, "\(hostile.name)")
  }

  @Test(
    "every control character in a field value is refused, and every other byte taken",
    arguments: 0...255)
  func fieldBytes(_ value: Int) {
    let byte = UInt8(value)
    let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: a".utf8) + [byte] + Array("b\r\n\r\n".utf8)
    let isAllowed = byte == 0x09 || byte >= 0x20 && byte != 0x7F
    #expect((Parsing.refusal(Parsing.parse(bytes)) == nil) == isAllowed)
  }

  @Test("only token characters make a field name", arguments: 0...255)
  func nameBytes(_ value: Int) {
    let byte = UInt8(value)
    let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX".utf8) + [byte] + Array("Y: 1\r\n\r\n".utf8)
    let isToken =
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    // A colon ends the name: "X" with the value "Y: 1".
    #expect((Parsing.refusal(Parsing.parse(bytes)) == nil) == (isToken || byte == 0x3A))
  }

  @Test(
    "the forms of a target are told apart",
    arguments: [
      ("GET /a?b?c HTTP/1.1\r\nHost: h\r\n\r\n", "/a", "b?c"),
      ("GET /? HTTP/1.1\r\nHost: h\r\n\r\n", "/", ""),
      ("GET //a HTTP/1.1\r\nHost: h\r\n\r\n", "//a", nil),
      ("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n", "/", nil),
      ("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n", "/", "q"),
      ("GET HTTPS://[::1]:8/a?b HTTP/1.1\r\nHost: h\r\n\r\n", "/a", "b"),
      ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "*", nil),
      ("GET /a[]=|{} HTTP/1.1\r\nHost: h\r\n\r\n", "/a[]=|{}", nil),
    ] as [(String, String, String?)])
  func targets(_ text: String, _ path: String, _ query: String?) throws {
    let head = try #require(Parsing.head(text))
    #expect(Parsing.text(head.path) == path)
    #expect(Parsing.text(head.query) == query)
  }

  @Test(
    "who wants to keep the connection is understood",
    arguments: [
      ("1.1", "", true), ("1.1", "Connection: close\r\n", false),
      ("1.1", "Connection: foo, CLOSE\r\n", false), ("1.1", "Connection: keep-alive\r\n", true),
      ("1.0", "", false), ("1.0", "Connection: Keep-Alive\r\n", true),
      ("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
    ])
  func keepAlive(_ version: String, _ fields: String, _ isWanted: Bool) throws {
    let head = try #require(Parsing.head("GET / HTTP/\(version)\r\nHost: h\r\n\(fields)\r\n"))
    #expect(head.wantsKeepAlive == isWanted)
  }

  @Test(
    "what is unusual but plain is taken",
    arguments: [
      "GET / HTTP/1.0\r\n\r\n",
      "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHOST:h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h:\r\n\r\n",
      "BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0005\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\n",
      "GET / HTTP/1.2\r\nHost: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nX: a:b: c\r\n\r\n",
    ])
  func unusual(_ text: String) {
    #expect(Parsing.head(text) != nil)
  }

  @Test("100-continue is heeded for a body, in HTTP/1.1, in any case")
  func expectations() throws {
    let fields = "Host: h\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n"
    #expect(try #require(Parsing.head("POST / HTTP/1.1\r\n" + fields)).expectsContinue)
    #expect(try !#require(Parsing.head("POST / HTTP/1.0\r\n" + fields)).expectsContinue)
    let bodiless = "GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n"
    #expect(try !#require(Parsing.head(bodiless)).expectsContinue)
  }

  @Test("a line or a field section at its limit is taken, and one byte more refused")
  func limits() {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = 100
    limits.fieldBytesMax = 300
    limits.fieldCountMax = 3
    func line(_ length: Int) -> String {
      "GET /" + String(repeating: "a", count: length - 14) + " HTTP/1.1\r\nHost: a\r\n\r\n"
    }
    #expect(Parsing.refusal(Parsing.parse(line(100), limits)) == nil)
    #expect(Parsing.refusal(Parsing.parse(line(101), limits)) == 414)
    func fields(_ length: Int) -> String {
      let filler = String(repeating: "a", count: length - 9 - 5)
      return "GET / HTTP/1.1\r\nHost: a\r\nX: \(filler)\r\n\r\n"
    }
    #expect(Parsing.refusal(Parsing.parse(fields(300), limits)) == nil)
    #expect(Parsing.refusal(Parsing.parse(fields(301), limits)) == 431)
    let three = "GET / HTTP/1.1\r\nHost: a\r\nB: 1\r\nC: 1\r\n"
    #expect(Parsing.refusal(Parsing.parse(three + "\r\n", limits)) == nil)
    #expect(Parsing.refusal(Parsing.parse(three + "D: 1\r\n\r\n", limits)) == 431)
  }

  @Test("a line or a field section at its limit is taken wherever it is cut")
  func atLimitInPieces() {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = 64
    limits.fieldBytesMax = 256
    let line = "GET /\(String(repeating: "a", count: 64 - 14)) HTTP/1.1"
    let host = "Host: h\r\n"
    let field = "X: \(String(repeating: "a", count: 256 - host.utf8.count - 3 - 2))"
    let bytes = Array("\(line)\r\n\(host)\(field)\r\n\r\n".utf8)
    for cut in 0..<bytes.count {
      var parser = RequestParser(limits: limits)
      let early = parser.parse(bytes, 0..<cut)
      #expect(Parsing.refusal(early) == nil, "cut at \(cut)")
      #expect(Parsing.refusal(parser.parse(bytes, 0..<bytes.count)) == nil, "cut at \(cut)")
    }
  }

  @Test("an endless line is refused at its limit, without waiting for its end")
  func endlessLines() {
    let endless = String(repeating: "a", count: 100_000)
    #expect(Parsing.refusal(Parsing.parse("GET /" + endless)) == 414)
    #expect(Parsing.refusal(Parsing.parse("GET / HTTP/1.1\r\nX: " + endless)) == 431)
    #expect(Parsing.refusal(Parsing.parse("GET / HTTP/1.1\r\n" + endless)) == 431)
  }
}
