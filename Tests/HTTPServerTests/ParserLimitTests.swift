import Testing

@testable import HTTPServer

@Suite("The limits of a head, to the byte")
struct ParserLimitTests {
  @Test("fields of as many bytes as they may have are taken, and one byte more is refused")
  func fieldBytes() {
    var limits = HTTPLimits()
    limits.fieldBytesMax = 300
    func head(fieldBytes: Int) -> String {
      let beginning = "Host: a\r\nX: "
      let filler = String(repeating: "a", count: fieldBytes - beginning.utf8.count - 2)
      return "GET / HTTP/1.1\r\n\(beginning)\(filler)\r\n\r\n"
    }
    #expect(Parsing.refusal(Parsing.parse(head(fieldBytes: 300), limits)) == nil)
    #expect(Parsing.refusal(Parsing.parse(head(fieldBytes: 301), limits)) == 431)
  }
}
