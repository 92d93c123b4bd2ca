import EventLoop
import Testing

@testable import HTTPServer

@Suite("Answers, bodies and limits")
struct HTTPValueTests {
  @Test("a line end in a field value cannot begin another field")
  func injection() {
    var headers = ResponseFields()
    headers.add("X-Words", "a\r\nSet-Cookie: b\u{0}")
    #expect(headers.bytes == Array("X-Words: a  Set-Cookie: b \r\n".utf8))
    for name in ["X Y", "", "X:", "X\r\n"] {
      let isTaken = headers.add(name: Array(name.utf8)[...], value: [UInt8(ascii: "1")])
      #expect(!isTaken)
    }
  }

  @Test(
    "fields that belong to the connection are not taken",
    arguments: [
      "Connection", "content-length", "Keep-Alive", "Trailer", "TRANSFER-ENCODING", "Upgrade",
    ])
  func reserved(_ name: String) {
    var headers = ResponseFields()
    let isTaken = headers.add(name: Array(name.utf8)[...], value: [UInt8(ascii: "1")])
    #expect(!isTaken)
    #expect(headers.bytes.isEmpty)
  }

  @Test("fields that were added are found again")
  func lookup() {
    var headers = ResponseFields()
    headers.add("Content-Type", "text/plain")
    headers.add("Retry-After", 7)
    #expect(headers.first("content-type") == "text/plain")
    #expect(headers.first("Retry-After") == "7")
    #expect(headers.first("Location") == nil)
  }

  @Test("the defaults are valid, and every nonsense limit is named")
  func limits() {
    #expect(HTTPLimits().validate().isEmpty)
    var limits = HTTPLimits()
    limits.headTimeoutMs = 0
    limits.connectionsMax = 0
    limits.fieldBytesMax = 10
    #expect(
      limits.validate().map { $0.prefix { $0 != ":" } } == [
        "fieldBytesMax", "connectionsMax", "headTimeoutMs",
      ])
  }

  @Test("every kind of problem has a status of its own class and a document")
  func problems() {
    for kind in ProtocolProblem.Kind.allCases {
      let response = ProtocolProblem.response(to: ProtocolProblem(kind, "Why."))
      #expect((400...599).contains(response.status))
      #expect(response.headers.first("Content-Type") == "application/problem+json")
    }
  }

  @Test("a body at hand is collected up to a limit, once")
  func bodyAtHand() async throws {
    let body = RequestBody(Array("hello".utf8))
    await #expect(throws: RequestBodyError.tooLarge) { try await body.collect(upTo: 4) }
    #expect(body.failure == .tooLarge)
    #expect(try await RequestBody(Array("hello".utf8)).collect(upTo: 5) == Array("hello".utf8))
    let pieces = RequestBody(Array("hello".utf8))
    #expect(try await pieces.read() == Array("hello".utf8))
    #expect(try await pieces.read() == nil)
  }

  @Test("a request for a handler's test is made from its bytes")
  func requestFromBytes() async throws {
    let text = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
    let request = try #require(HTTPRequest(parsing: Array(text.utf8)))
    #expect(try await request.body.collect(upTo: 10) == Array("hi".utf8))
    #expect(HTTPRequest(parsing: Array("GET".utf8)) == nil)
  }
}
