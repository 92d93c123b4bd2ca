import Testing

@testable import HTTPServer

@Suite("messages one after another in one body")
struct MessageSequenceTests {
  private func requests(_ text: String, countMax: Int = 9) throws -> [HTTPRequest] {
    try HTTPRequest.sequence(
      Array(text.utf8), limits: HTTPLimits(), countMax: countMax, origin: .loopback)
  }

  private let post = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"

  @Test("requests are read in their order, each with its own body")
  func order() throws {
    let read = try requests(post + "GET /b HTTP/1.1\r\nHost: h\r\n\r\n" + post)
    #expect(read.map { String(decoding: $0.head.target, as: UTF8.self) } == ["/a", "/b", "/a"])
    #expect(read.map { $0.body.takeWhole() } == [Array("abc".utf8), [], Array("abc".utf8)])
    #expect(try requests("").isEmpty)
  }

  @Test(
    "none is taken if one of them is cut off, too many, or no request",
    arguments: [
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabc", "POST /a HTTP/1.1\r\nHost",
      "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST /a HTTP/1.1\r\n\r\n", "hello\r\n\r\n", "POST /a HTTP/1.1\nHost: h\n\n", "\u{0}\u{0}",
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775807\r\n\r\nabc",
    ])
  func refused(_ last: String) {
    #expect(throws: ProtocolProblem.self) { try requests(post + last) }
    #expect(throws: ProtocolProblem.self) { try requests(post + post, countMax: 1) }
  }

  @Test("a response is written with its length, if its body is in memory")
  func responses() {
    var response = HTTPResponse(status: 202, body: .bytes([0x61, 0x62]))
    response.headers.add("Location", "/x")
    var bytes: [UInt8] = []
    #expect(response.append(asMessageTo: &bytes))
    #expect(HTTPResponse(status: 404).append(asMessageTo: &bytes))
    #expect(
      String(decoding: bytes, as: UTF8.self) == """
        HTTP/1.1 202 Accepted\r
        Location: /x\r
        Content-Length: 2\r
        \r
        abHTTP/1.1 404 Not Found\r
        Content-Length: 0\r
        \r\n
        """)
    let count = bytes.count
    response.body = .source(length: 1) { nil }
    #expect(!response.append(asMessageTo: &bytes) && bytes.count == count)
  }
}
