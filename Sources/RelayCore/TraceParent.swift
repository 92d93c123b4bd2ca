/// The trace that a request belongs to, as its `traceparent` says (W3C Trace Context, section 3.2).
package enum TraceParent {
  private static let textBytesMin = 55
  private static let idRange = 3..<35
  private static let parentRange = 36..<52

  /// The trace's id: 32 hexadecimal digits in lower case; nil if there is none, or more than one,
  /// or what stands there is not well formed.
  package static func traceID(in headers: HeaderBlock) -> String? {
    var found: ArraySlice<UInt8>?
    for field in headers where field.isNamed("traceparent") {
      guard found == nil else { return nil }
      found = field.value
    }
    return found.flatMap { traceID(of: Array($0)) }
  }

  /// The same of a field's value.
  package static func traceID(of value: [UInt8]) -> String? {
    guard value.count >= textBytesMin, value[2] == dash, value[35] == dash, value[52] == dash,
      value[..<2].allSatisfy(isDigit), value[53..<55].allSatisfy(isDigit),
      isID(value[idRange]), isID(value[parentRange])
    else { return nil }
    // Later versions may say more behind another dash; version 00 says no more, and ff is none.
    let version = value[..<2]
    guard !version.elementsEqual("ff".utf8) else { return nil }
    if value.count > textBytesMin {
      guard !version.elementsEqual("00".utf8), value[textBytesMin] == dash else { return nil }
    }
    return String(decoding: value[idRange], as: UTF8.self)
  }

  private static let dash = UInt8(ascii: "-")

  private static func isID(_ digits: ArraySlice<UInt8>) -> Bool {
    digits.allSatisfy(isDigit) && digits.contains { $0 != UInt8(ascii: "0") }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}
