import HTTPServer
import RelayCore

/// The media types that a request accepts: the media ranges of its `Accept` fields (RFC 9110
/// section 12.5.1).
package struct AcceptedTypes: Sendable {
  /// `type/subtype`, either of which may be `*`, and how much it is liked, in thousandths.
  private struct Range {
    let type: ArraySlice<UInt8>
    let subtype: ArraySlice<UInt8>
    /// The parameter `version`, without quotes; nil without one.
    let version: ArraySlice<UInt8>?
    let quality: Int
  }

  /// The most ranges that are looked at: browsers send a dozen.
  private static let rangesMax = 64

  private let ranges: [Range]

  /// Reads the fields of a request; what is no media range is passed over.
  package init(_ head: RequestHead) { self.init(head.values(of: "Accept")) }

  /// Reads the values of the fields, in order.
  package init(_ values: [ArraySlice<UInt8>]) {
    ranges = Array(
      values.lazy.flatMap { Self.split($0, at: UInt8(ascii: ",")) }.compactMap(Self.range)
        .prefix(Self.rangesMax))
  }

  /// The quality of a media type in thousandths, by the range that names it most exactly.
  ///
  /// 0 where none names it. Without any range, everything is liked.
  package func quality(_ type: StaticString, _ subtype: StaticString) -> Int {
    if ranges.isEmpty { return 1000 }
    var best = (precision: -1, quality: 0)
    for range in ranges {
      let isAnyType = range.type.elementsEqual([UInt8(ascii: "*")])
      let isAnySubtype = range.subtype.elementsEqual([UInt8(ascii: "*")])
      guard isAnyType || FieldSyntax.equals(range.type, type),
        isAnySubtype || FieldSyntax.equals(range.subtype, subtype)
      else { continue }
      let precision = isAnyType ? 0 : isAnySubtype ? 1 : 2
      if precision > best.precision { best = (precision, range.quality) }
    }
    return best.quality
  }

  /// The quality of a media type in thousandths, by ranges that name it in full, with no version or
  /// with one that begins like this; 0 without any.
  package func quality(
    ofNamed type: StaticString, _ subtype: StaticString, version prefix: StaticString
  ) -> Int {
    let named = ranges.lazy.filter { range in
      FieldSyntax.equals(range.type, type) && FieldSyntax.equals(range.subtype, subtype)
        && range.version.map { FieldSyntax.hasPrefix($0, prefix) } ?? true
    }
    return named.map(\.quality).max() ?? 0
  }

  private static func range(_ element: ArraySlice<UInt8>) -> Range? {
    let parts = split(element, at: UInt8(ascii: ";")).map { FieldSyntax.trimmingWhitespace($0) }
    guard let name = parts.first, let slash = name.firstIndex(of: UInt8(ascii: "/")),
      slash > name.startIndex, slash < name.endIndex - 1
    else { return nil }
    var quality = 1000
    var version: ArraySlice<UInt8>?
    for parameter in parts.dropFirst() {
      if FieldSyntax.hasPrefix(parameter, "version=") {
        version = parameter.dropFirst("version=".utf8.count)
        if version?.first == UInt8(ascii: "\"") { version = version?.dropFirst().dropLast() }
      }
      guard FieldSyntax.hasPrefix(parameter, "q=") else { continue }
      guard let value = thousandths(parameter.dropFirst("q=".utf8.count)) else { return nil }
      quality = value
    }
    return Range(
      type: name[..<slash], subtype: name[(slash + 1)...], version: version, quality: quality)
  }

  /// A weight (RFC 9110 section 12.4.2): 0 to 1 with up to three digits behind the point.
  private static func thousandths(_ text: ArraySlice<UInt8>) -> Int? {
    let point = text.firstIndex(of: UInt8(ascii: ".")) ?? text.endIndex
    let digits = text[point...].dropFirst()
    guard text[..<point].count == 1, digits.count <= 3,
      let whole = text.first, whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1"),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    var value = Int(whole - UInt8(ascii: "0"))
    for index in 0..<3 {
      let digit = index < digits.count ? digits[digits.startIndex + index] : UInt8(ascii: "0")
      value = value * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return value <= 1000 ? value : nil
  }

  /// Cuts at each `separator` that stands outside of quotes.
  private static func split(
    _ text: ArraySlice<UInt8>, at separator: UInt8
  ) -> [ArraySlice<UInt8>] {
    var isQuoted = false
    var isEscaped = false
    return text.split(omittingEmptySubsequences: true) { byte in
      defer { isEscaped = isQuoted && !isEscaped && byte == UInt8(ascii: "\\") }
      if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
      return byte == separator && !isQuoted
    }
  }
}
