import RelayCore

/// A set of final HTTP status codes (200 to 599), as a configuration names them: one by one, or by
/// class.
///
/// ``StatusSet`` is what the core goes by; this one still knows how it was written.
package struct StatusCodeSet: Equatable, Sendable {
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

  /// The same codes, for the core.
  package var statusSet: StatusSet { StatusSet(codes: codes, classes: classes) }

  /// The first code that is in both sets; nil if none is.
  package func firstInCommon(with other: StatusCodeSet) -> Int? {
    StatusSet.codes.first { contains($0) && other.contains($0) }
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
