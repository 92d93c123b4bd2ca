/// A set of final HTTP status codes (200 to 599), some of them named by their class.
package struct StatusCodeSet: Equatable, Sendable {
  /// The codes that can be in a set; 1xx are not final answers (RFC 9110 section 15.2).
  package static let codes = 200...599

  /// Codes named one by one, ascending.
  package let codes: [Int]
  /// Classes named as a whole, ascending: 5 for `5xx`.
  package let classes: [Int]

  /// The set of `codes` and all codes of `classes`.
  package init(codes: some Sequence<Int>, classes: some Sequence<Int>) {
    self.codes = Set(codes).sorted()
    self.classes = Set(classes).sorted()
  }

  /// Whether `code` is in the set.
  package func contains(_ code: Int) -> Bool {
    classes.contains(code / 100) || codes.contains(code)
  }

  /// The first code that is in both sets; nil if none is.
  package func firstInCommon(with other: StatusCodeSet) -> Int? {
    Self.codes.first { contains($0) && other.contains($0) }
  }

  /// The class that a text such as `5xx` names; nil if it names none.
  static func classNumber(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count == 3, bytes[1] == UInt8(ascii: "x"), bytes[2] == UInt8(ascii: "x"),
      (UInt8(ascii: "2")...UInt8(ascii: "5")).contains(bytes[0])
    else { return nil }
    return Int(bytes[0] - UInt8(ascii: "0"))
  }
}
