import RelayCore

/// The parameters of a query string, `name=value` pairs joined by `&`.
package struct QueryParameters: Sendable {
  /// The reason that a query string could not be read.
  package enum Failure: Error, Sendable, Equatable {
    /// Percent-encoding that is broken, or encodes bytes that are not UTF-8.
    case malformedEncoding
    /// A parameter that may occur once occurs twice.
    case repeated(String)
  }

  /// The name and value of each parameter, in order.
  package let items: [(name: String, value: String)]

  /// Parses a query string; `+` stands for a space, and a name without `=` has an empty value.
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

  /// The value of a parameter that may occur at most once; nil if it is missing.
  package func single(_ name: String) throws(Failure) -> String? {
    let values = items.filter { $0.name == name }
    guard values.count < 2 else { throw .repeated(name) }
    return values.first?.value
  }
}
