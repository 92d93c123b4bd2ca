import RelayCore

/// The names that a message's `Connection` fields list (RFC 9110 section 7.6.1).
struct ConnectionOptions {
  private var names: [[UInt8]] = []

  /// Whether no names are listed.
  var isEmpty: Bool { names.isEmpty }

  /// Adds the names in one field's value.
  ///
  /// `close` and `keep-alive`, which nearly every message has, name no field that would not be left
  /// out anyway.
  mutating func add(_ value: Span<UInt8>) {
    var start = 0
    while start < value.count {
      var end = start
      while end < value.count, value[end] != UInt8(ascii: ",") { end += 1 }
      let item = value.extracting(value.trimmed(start..<end))
      if !item.isEmpty, !item.equals("close"), !item.equals("keep-alive") {
        names.append(item.indices.map { FieldSyntax.lowercased(item[$0]) })
      }
      start = end + 1
    }
  }

  /// Whether a field of this name is listed.
  func contain(_ name: Span<UInt8>) -> Bool {
    names.contains { name.equals($0.span) }
  }

  /// Forgets all names.
  mutating func removeAll() { names.removeAll() }
}

extension Span<UInt8> {
  /// Whether these bytes are the given lower-case name, ignoring case.
  func equals(_ name: StaticString) -> Bool {
    FieldSyntax.equals(self, name)
  }

  /// Whether these bytes are the given lower-case name, ignoring case.
  func equals(_ name: Span<UInt8>) -> Bool {
    guard count == name.count else { return false }
    for index in indices where FieldSyntax.lowercased(self[index]) != name[index] {
      return false
    }
    return true
  }

  /// The part of a range without blanks, tabs and other control characters at its ends.
  func trimmed(_ range: Range<Int>) -> Range<Int> {
    var start = range.lowerBound
    var end = range.upperBound
    while start < end, self[start] <= 0x20 || self[start] == 0x7F { start += 1 }
    while start < end, self[end - 1] <= 0x20 || self[end - 1] == 0x7F { end -= 1 }
    return start..<end
  }

  /// Whether these bytes begin with the given lower-case text, ignoring case.
  func begins(with prefix: StaticString) -> Bool {
    count >= prefix.utf8CodeUnitCount && extracting(first: prefix.utf8CodeUnitCount).equals(prefix)
  }
}
