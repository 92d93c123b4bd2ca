/// Header fields in wire form: lines of `name: value`, each ended by CR LF, with any bytes in
/// values.
///
/// One array of bytes instead of a string for each field: a sender's bytes are kept as they are,
/// and a block is stored and passed on without being parsed.
package struct HeaderBlock: Hashable, Sendable {
  /// The lines; empty, or ending in CR LF.
  package private(set) var bytes: [UInt8]

  /// An empty block.
  package init() { bytes = [] }

  /// Restores a stored block.
  ///
  /// - Returns: nil unless every line has the form that ``append(name:value:)`` writes.
  package init?(stored bytes: [UInt8]) {
    self.bytes = bytes
    var position = 0
    while position < bytes.count {
      guard let field = field(at: position), field.isWellFormed,
        bytes[field.name.endIndex + 1] == UInt8(ascii: " ")
      else { return nil }
      position = field.end
    }
  }

  /// Takes lines that the caller has written in the form of ``append(name:value:)``; checked only
  /// where assertions are on.
  package init(wellFormed lines: [UInt8]) {
    assert(HeaderBlock(stored: lines) != nil, "lines that are not well formed")
    bytes = lines
  }

  /// Whether the block has no fields.
  package var isEmpty: Bool { bytes.isEmpty }

  /// Adds a field at the end.
  ///
  /// - Returns: false, with nothing added, if the name is no token (RFC 9110 section 5.6.2), or the
  ///   value holds CR, LF, NUL or another control character but tab (section 5.5). White space
  ///   around the value is not part of it and is left out.
  @discardableResult
  package mutating func append(
    name: some Sequence<UInt8>, value: some Sequence<UInt8>
  ) -> Bool {
    let start = bytes.count
    bytes.append(contentsOf: name)
    guard bytes.count > start, bytes[start...].allSatisfy(FieldSyntax.isTokenByte) else {
      bytes.removeSubrange(start...)
      return false
    }
    bytes.append(UInt8(ascii: ":"))
    bytes.append(UInt8(ascii: " "))
    let valueStart = bytes.count
    bytes.append(contentsOf: value)
    let kept = FieldSyntax.trimmingWhitespace(bytes[valueStart...]).indices
    guard bytes[kept].allSatisfy(FieldSyntax.isValueByte) else {
      bytes.removeSubrange(start...)
      return false
    }
    bytes.removeSubrange(kept.upperBound...)
    bytes.removeSubrange(valueStart..<kept.lowerBound)
    bytes.append(0x0D)
    bytes.append(0x0A)
    return true
  }

  /// Adds a field given as text.
  @discardableResult
  package mutating func append(name: String, value: String) -> Bool {
    append(name: name.utf8, value: value.utf8)
  }
}

extension HeaderBlock: Sequence {
  /// A field, as slices of the block.
  package struct Field: Sendable {
    /// The name's bytes, as written.
    package let name: ArraySlice<UInt8>
    /// The value's bytes, without the white space around it.
    package let value: ArraySlice<UInt8>
    /// The offset after this field's line.
    fileprivate let end: Int

    /// Whether ``HeaderBlock/append(name:value:)`` would write it like this.
    fileprivate var isWellFormed: Bool {
      name.allSatisfy(FieldSyntax.isTokenByte) && value.allSatisfy(FieldSyntax.isValueByte)
        && FieldSyntax.trimmingWhitespace(value).count == value.count
    }

    /// Whether this is its name, ignoring case (RFC 9110 section 5.1).
    package func isNamed(_ other: StaticString) -> Bool {
      FieldSyntax.equals(name, other)
    }
  }

  /// Iterates over the fields in the order in which they were added.
  package struct Iterator: IteratorProtocol {
    private let block: HeaderBlock
    private var position = 0

    fileprivate init(_ block: HeaderBlock) { self.block = block }

    /// The next field, or nil after the last.
    package mutating func next() -> Field? {
      guard let field = block.field(at: position) else { return nil }
      position = field.end
      return field
    }
  }

  /// Starts a walk over the fields.
  package func makeIterator() -> Iterator { Iterator(self) }

  private func field(at start: Int) -> Field? {
    guard start < bytes.count,
      let colon = bytes[start...].firstIndex(of: UInt8(ascii: ":")), colon > start,
      let carriageReturn = bytes[colon...].firstIndex(of: 0x0D),
      carriageReturn + 1 < bytes.count, bytes[carriageReturn + 1] == 0x0A,
      carriageReturn >= colon + 2
    else { return nil }
    return Field(
      name: bytes[start..<colon], value: bytes[(colon + 2)..<carriageReturn],
      end: carriageReturn + 2)
  }

  /// Whether there is a field of this name.
  ///
  /// It makes no ``Field`` of what it passes over, since every envelope is asked.
  package func has(_ name: StaticString) -> Bool {
    let lines = bytes.span
    let length = name.utf8CodeUnitCount
    var start = 0
    while start + length < lines.count {
      if lines[start + length] == UInt8(ascii: ":"),
        FieldSyntax.equals(bytes[start..<start + length], name)
      {
        return true
      }
      // The next line's start, behind LF; a value holds none.
      while lines[start] != 0x0A { start += 1 }
      start += 1
    }
    return false
  }

  /// The value of the first field of this name, as text; nil if there is none.
  ///
  /// Bytes that are not UTF-8 become U+FFFD.
  package func first(_ name: StaticString) -> String? {
    for field in self where field.isNamed(name) {
      return String(decoding: field.value, as: UTF8.self)
    }
    return nil
  }
}
