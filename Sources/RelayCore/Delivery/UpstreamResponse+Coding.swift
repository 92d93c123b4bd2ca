// What an answer says of the coding of its request's body.
extension UpstreamResponse {
  /// Whether it may refuse a request since its body was sent as gzip.
  ///
  /// 415 says so (RFC 9110 section 15.5.16), and may say it of the type as well. If its
  /// `Accept-Encoding` lists gzip, the coding is not to blame (RFC 7694 section 3).
  package var mayRefuseGzip: Bool {
    guard status == 415 else { return false }
    return !headers.contains { $0.isNamed("Accept-Encoding") && Self.listsGzip($0.value) }
  }

  private static func listsGzip(_ value: ArraySlice<UInt8>) -> Bool {
    value.split(separator: UInt8(ascii: ",")).contains { element in
      let parts = element.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        .map { FieldSyntax.trimmingWhitespace($0) }
      guard let name = parts.first, !parts.dropFirst().contains(where: isZero) else { return false }
      let names: [StaticString] = ["gzip", "x-gzip", "*"]
      return names.contains { FieldSyntax.equals(name, $0) }
    }
  }

  /// Whether a parameter is a weight of zero, which means "not acceptable" (RFC 9110 section
  /// 12.4.2).
  private static func isZero(_ parameter: ArraySlice<UInt8>) -> Bool {
    FieldSyntax.hasPrefix(parameter, "q=0")
      && parameter.dropFirst(3).allSatisfy { $0 == UInt8(ascii: "0") || $0 == UInt8(ascii: ".") }
  }
}
