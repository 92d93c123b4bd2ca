import Testing

@testable import HTTPServer

@Suite("Undoing the chunked coding")
struct ChunkDecoderTests {
  enum Outcome: Equatable {
    case whole([UInt8], end: Int)
    case unfinished([UInt8])
    case refused(Int)
  }

  /// Decodes bytes that arrive up to each of some ends in turn.
  private func decode(
    _ text: String, ends: [Int]? = nil, limits: HTTPLimits = HTTPLimits()
  ) -> Outcome {
    let bytes = Array(text.utf8)
    var decoder = ChunkDecoder(limits: limits)
    var body: [UInt8] = []
    var start = 0
    for end in ends ?? [bytes.count] {
      arrival: while true {
        switch decoder.next(bytes, from: &start, to: end) {
        case .needMore: break arrival
        case .data(let range): body += bytes[range]
        case .end: return .whole(body, end: start)
        case .refused(let problem): return .refused(problem.status)
        }
      }
    }
    return .unfinished(body)
  }

  static let sample = "5\r\nhello\r\n00B;a=\"b\"\r\n, world\r\n!!\r\n0\r\nX-Sum: 1\r\n\r\n"

  @Test("chunks, extensions and trailers are taken apart, and what follows is left alone")
  func whole() {
    let expected = Outcome.whole(Array("hello, world\r\n!!".utf8), end: Self.sample.utf8.count)
    #expect(decode(Self.sample + "GET /") == expected)
  }

  @Test("however the bytes are cut, the body is the same")
  func split() {
    let count = Self.sample.utf8.count
    let expected = Outcome.whole(Array("hello, world\r\n!!".utf8), end: count)
    for cut in 0..<count { #expect(decode(Self.sample, ends: [cut, count]) == expected) }
    #expect(decode(Self.sample, ends: Array(0...count)) == expected)
  }

  @Test("a body without chunks is empty")
  func empty() {
    #expect(decode("0\r\n\r\n") == .whole([], end: 5))
    #expect(decode("000;x\r\n\r\n") == .whole([], end: 9))
  }

  @Test(
    "broken framing is refused, all at once and byte by byte",
    arguments: [
      "\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1\t\r\n",
      "1\n", "1\r\r\n",
      "1;\u{0}\r\n", "1;a\rb\r\n", "1 2\r\n", "1,2\r\n", "g\r\n", "8000000000000000\r\n",
      "10000000000000000\r\n", "FFFFFFFFFFFFFFFFF\r\n", "1\r\nab\r\n", "1\r\na\n", "1\r\na\rb",
      "2\r\na\r\n\r\n0\r\n\r\nx1", "0\r\nX\r\n\r\n", "0\r\n X: 1\r\n\r\n", "0\r\nX : 1\r\n\r\n",
      "0\r\nX: 1\n\r\n", "0\r\n\n", "0\r\nX: \u{0}\r\n\r\n", ";a\r\n", "\u{661}\r\n",
    ])
  func broken(_ text: String) {
    #expect(decode(text) == .refused(400))
    #expect(decode(text, ends: Array(0...text.utf8.count)) == .refused(400))
  }

  @Test("a size line, and a trailer section, may not be endless")
  func endless() {
    let filler = String(repeating: "a", count: 40_000)
    #expect(decode("1;" + filler) == .refused(400))
    #expect(decode("0\r\nX: " + filler) == .refused(400))
    let many = String(repeating: "X: 1\r\n", count: 200)
    #expect(decode("0\r\n" + many + "\r\n") == .refused(400))
  }

  @Test("extensions are bounded each, and all of a body's together")
  func extensions() {
    let limits = HTTPLimits()
    let chunk = "1;\(String(repeating: "x", count: 249))\r\na\r\n"
    let fits = limits.fieldBytesMax / 250
    let body = String(repeating: chunk, count: fits)
    #expect(decode(body, limits: limits) == .unfinished([UInt8](repeating: 97, count: fits)))
    #expect(decode(body + chunk, limits: limits) == .refused(400))
  }

  @Test("leading zeros make a size line long, not large")
  func zeros() {
    #expect(decode(String(repeating: "0", count: 200) + "1\r\na\r\n0\r\n\r\n") != .refused(400))
    #expect(decode(String(repeating: "0", count: 300) + "1\r\na\r\n0\r\n\r\n") == .refused(400))
  }
}
