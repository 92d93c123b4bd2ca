/// The members of an object, in the order in which they were written.
package struct JSONObject: Sequence, Sendable {
  /// The object itself.
  package let value: JSONValue

  /// Iterates over the members; each step passes over one of them.
  package func makeIterator() -> Iterator { Iterator(value) }

  /// The value of the member called `name`; nil if there is none.
  ///
  /// The search is linear in the object's size.
  package subscript(name: StaticString) -> JSONValue? {
    for member in self where member.name.equals(name) { return member.value }
    return nil
  }

  /// An iterator over the members of one object.
  package struct Iterator: IteratorProtocol {
    private let value: JSONValue
    private var position: Int

    init(_ value: JSONValue) {
      self.value = value
      position = value.range.lowerBound + 1
    }

    /// The next member; nil after the last.
    package mutating func next() -> JSONMember? {
      let end = value.range.upperBound
      let found = value.text.withUnsafeBytes { bytes -> (name: Range<Int>, value: Range<Int>)? in
        var start = JSONScanner.skipWhiteSpace(bytes, from: position, to: end)
        if start < end, bytes[start] == .comma {
          start = JSONScanner.skipWhiteSpace(bytes, from: start + 1, to: end)
        }
        guard start < end, bytes[start] == .quote else { return nil }
        let nameEnd = JSONScanner.skipString(bytes, from: start, to: end).end
        let colon = JSONScanner.skipWhiteSpace(bytes, from: nameEnd, to: end)
        let first = JSONScanner.skipWhiteSpace(bytes, from: colon + 1, to: end)
        let last = JSONScanner.skipValue(bytes, from: first, to: end)
        return ((start + 1)..<(nameEnd - 1), first..<last)
      }
      guard let found else { return nil }
      position = found.value.upperBound
      return JSONMember(
        name: JSONName(text: value.text, range: found.name),
        value: JSONValue(text: value.text, range: found.value, document: value.document))
    }
  }
}

/// A name and its value in an object.
package struct JSONMember: Sendable {
  /// The name.
  package let name: JSONName
  /// The value.
  package let value: JSONValue
}

/// The name of a member; known names are compared as bytes, without making a string.
package struct JSONName: Sendable {
  let text: [UInt8]
  /// The range of the name in `text`, without its quotes.
  let range: Range<Int>

  /// The name with its escapes resolved.
  package var string: String {
    text.withUnsafeBytes { bytes in
      let decoded = JSONText.decode(bytes, from: range.lowerBound, to: range.upperBound)
      return String(decoding: decoded, as: UTF8.self)
    }
  }

  /// Whether the name is `other`, escaped or not.
  package func equals(_ other: StaticString) -> Bool {
    text.withUnsafeBytes { bytes in
      let known = UnsafeRawBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount)
      guard range.count == known.count else {
        // An escape makes the written form longer, never shorter.
        guard range.count > known.count, bytes[range].contains(.backslash) else { return false }
        return JSONText.decode(bytes, from: range.lowerBound, to: range.upperBound)
          .elementsEqual(known)
      }
      // An escape is longer than what it stands for, so a name of the same length must have none.
      // Counted by hand: each member of each envelope comes by here for each name before its own.
      var index = 0
      while index < known.count {
        let byte = bytes[range.lowerBound &+ index]
        guard byte == known[index], byte != .backslash else { return false }
        index &+= 1
      }
      return true
    }
  }

  /// Lets a `switch` over a name list the known ones as plain literals.
  package static func ~= (known: StaticString, name: JSONName) -> Bool { name.equals(known) }
}

extension JSONValue {
  /// The value as an object.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything else.
  package func object() throws(JSONError) -> JSONObject {
    guard kind == .object else { throw wrongType(expected: "an object") }
    return JSONObject(value: self)
  }

  /// The value of a member; nil if this is no object or has no such member.
  package subscript(name: StaticString) -> JSONValue? {
    kind == .object ? JSONObject(value: self)[name] : nil
  }
}
