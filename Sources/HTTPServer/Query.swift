/// Undoing of percent-encoding (RFC 3986 section 2.1), strictly.
package enum PercentEncoding {
  /// The text that some bytes encode; nil for a `%` without two hexadecimal digits, for bytes that
  /// are not UTF-8, and for NUL.
  package static func decode(
    _ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = false
  ) -> String? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
      var byte = bytes[index]
      if byte == 0x25 {
        guard index + 2 < bytes.endIndex,
          let high = CharacterClass.hexValue(bytes[index + 1]),
          let low = CharacterClass.hexValue(bytes[index + 2])
        else { return nil }
        byte = high << 4 | low
        index += 2
      } else if plusIsSpace, byte == 0x2B {
        byte = 0x20
      }
      guard byte != 0 else { return nil }
      decoded.append(byte)
      index += 1
    }
    return String(validating: decoded, as: UTF8.self)
  }
}

/// The parameters of a query string, `name=value` pairs joined by `&`.
package struct QueryParameters: Sendable {
  /// Why a query string could not be read.
  package enum Failure: Error, Sendable, Equatable {
    /// Percent-encoding that is broken, or encodes bytes that are not UTF-8.
    case malformedEncoding
    /// A parameter that may stand once stands twice.
    case repeated(String)
  }

  /// Name and value of each parameter, in order.
  package let items: [(name: String, value: String)]

  /// Reads a query string; `+` stands for a space, and a name without `=` has an empty value.
  package init(_ query: ArraySlice<UInt8>?) throws(Failure) {
    var items: [(name: String, value: String)] = []
    for pair in query?.split(separator: 0x26) ?? [] {
      let equals = pair.firstIndex(of: 0x3D) ?? pair.endIndex
      let valueStart = min(equals + 1, pair.endIndex)
      guard let name = PercentEncoding.decode(pair[..<equals], plusIsSpace: true),
        let value = PercentEncoding.decode(pair[valueStart...], plusIsSpace: true)
      else { throw .malformedEncoding }
      items.append((name, value))
    }
    self.items = items
  }

  /// The value of a parameter that may stand at most once; nil where it is missing.
  package func single(_ name: String) throws(Failure) -> String? {
    let values = items.filter { $0.name == name }
    guard values.count < 2 else { throw .repeated(name) }
    return values.first?.value
  }
}
