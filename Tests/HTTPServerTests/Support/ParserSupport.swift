@testable import HTTPServer

/// Heads and problems, as tests read them.
enum Parsing {
  /// Parses text that is given all at once.
  static func parse(_ text: String, _ limits: HTTPLimits = HTTPLimits()) -> RequestParser.Result {
    parse(Array(text.utf8), limits)
  }

  static func parse(
    _ bytes: [UInt8], _ limits: HTTPLimits = HTTPLimits()
  ) -> RequestParser.Result {
    var parser = RequestParser(limits: limits)
    return parser.parse(bytes, 0..<bytes.count)
  }

  static func head(_ text: String) -> RequestHead? {
    if case .complete(let head, _) = parse(text) { return head }
    return nil
  }

  /// The status that a head is refused with; nil where it is not refused.
  static func refusal(_ result: RequestParser.Result) -> Int? {
    if case .refused(let problem) = result { return problem.status }
    return nil
  }

  static func text(_ bytes: ArraySlice<UInt8>?) -> String? {
    bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
