import JSON
import Testing

@Suite("Splitting NDJSON")
struct JSONLinesTests {
  static let texts: [(String, [String])] = [
    ("", []), ("\n\r\n \n", []), ("{}", ["{}"]), ("{}\n", ["{}"]), ("1\n2", ["1", "2"]),
    ("{\"a\":1}\r\n\r\n  [2] \t\r\n", ["{\"a\":1}", "[2]"]),
    ("nope\n\"a\\nb\"\n", ["nope", "\"a\\nb\""]),
  ]

  @Test("each line that holds something is an item, whatever stands in it", arguments: texts)
  func lines(text: String, lines: [String]) throws {
    let bytes = Array(text.utf8)
    let ranges = try JSONLines.lineRanges(of: bytes, countMax: 2)
    #expect(ranges.map { String(decoding: bytes[$0], as: UTF8.self) } == lines)
  }

  @Test("more lines than asked for are refused; blank ones do not count")
  func countMax() {
    let error = #expect(throws: JSONError.self) {
      try JSONLines.lineRanges(of: Array("1\n\n2\n3".utf8), countMax: 2)
    }
    #expect(error?.kind == .tooManyElements)
    #expect(error?.offset == 5)
  }
}
