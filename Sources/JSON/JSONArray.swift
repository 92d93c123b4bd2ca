/// The elements of an array, in order.
package struct JSONArray: Sequence, Sendable {
  /// The array itself.
  package let value: JSONValue

  /// Iterates over the elements; each step passes over one of them.
  package func makeIterator() -> Iterator { Iterator(value) }

  /// An iterator over the elements of one array.
  package struct Iterator: IteratorProtocol {
    private let value: JSONValue
    private var position: Int

    init(_ value: JSONValue) {
      self.value = value
      position = value.range.lowerBound + 1
    }

    /// The next element; nil after the last.
    package mutating func next() -> JSONValue? {
      let end = value.range.upperBound
      let found = value.text.withUnsafeBytes { bytes -> Range<Int>? in
        var start = JSONScanner.skipWhiteSpace(bytes, from: position, to: end)
        if start < end, bytes[start] == .comma {
          start = JSONScanner.skipWhiteSpace(bytes, from: start + 1, to: end)
        }
        guard start < end, bytes[start] != .closeBracket else { return nil }
        return start..<JSONScanner.skipValue(bytes, from: start, to: end)
      }
      guard let found else { return nil }
      position = found.upperBound
      return JSONValue(text: value.text, range: found, document: value.document)
    }
  }
}

extension JSONValue {
  /// The value as an array.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything else.
  package func array() throws(JSONError) -> JSONArray {
    guard kind == .array else { throw wrongType(expected: "an array") }
    return JSONArray(value: self)
  }
}
