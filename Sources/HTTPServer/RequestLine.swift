/// A request line, checked and parsed (RFC 9112 section 3).
///
/// Offsets count from the line's first byte.
struct RequestLine: Sendable {
  let method: HTTPMethod
  let version: HTTPVersion
  let target: Range<Int>
  /// The path; empty if an absolute target has none.
  let path: Range<Int>
  let query: Range<Int>?
  /// The host and port of an absolute target, which replace the `Host` field.
  let authority: Range<Int>?

  init(_ buffer: [UInt8], _ range: Range<Int>) throws(ProtocolProblem) {
    let start = range.lowerBound
    let methodEnd = try Self.methodEnd(buffer, range)
    let targetStart = methodEnd + 1
    var targetEnd = targetStart
    while targetEnd < range.upperBound, CharacterClass.isTarget(buffer[targetEnd]) {
      targetEnd += 1
    }
    guard targetEnd > targetStart, targetEnd < range.upperBound, buffer[targetEnd] == 0x20 else {
      throw .malformed(
        "The request line is not a method, a target and a version with one space between each.")
    }
    version = try Self.version(buffer, targetEnd + 1..<range.upperBound)
    method = Self.method(buffer, start..<methodEnd)
    let parts = try TargetParts(buffer, targetStart..<targetEnd, method)
    target = targetStart - start..<targetEnd - start
    path = Self.shift(parts.path, by: start)
    query = parts.query.map { Self.shift($0, by: start) }
    authority = parts.authority.map { Self.shift($0, by: start) }
  }

  private static func shift(_ range: Range<Int>, by start: Int) -> Range<Int> {
    range.lowerBound - start..<range.upperBound - start
  }

  private static func methodEnd(
    _ buffer: [UInt8], _ range: Range<Int>
  ) throws(ProtocolProblem) -> Int {
    var end = range.lowerBound
    while end < range.upperBound, CharacterClass.isToken(buffer[end]) { end += 1 }
    guard end > range.lowerBound, end < range.upperBound, buffer[end] == 0x20 else {
      throw .malformed("The request line does not begin with a method and a space.")
    }
    return end
  }

  /// Makes the usual methods without a string.
  private static func method(_ buffer: [UInt8], _ range: Range<Int>) -> HTTPMethod {
    switch range.count {
    case 3 where ASCII.equals(buffer, range, "GET"): .get
    case 4 where ASCII.equals(buffer, range, "POST"): .post
    default: HTTPMethod(buffer[range])
    }
  }

  /// Parses `HTTP/1.0` and `HTTP/1.1`; any other version is 505, and anything else is no version at
  /// all.
  private static func version(
    _ buffer: [UInt8], _ range: Range<Int>
  ) throws(ProtocolProblem) -> HTTPVersion {
    let start = range.lowerBound
    guard range.count == 8, ASCII.equals(buffer, start..<start + 5, "HTTP/"),
      CharacterClass.isDigit(buffer[start + 5]), buffer[start + 6] == 0x2E,
      CharacterClass.isDigit(buffer[start + 7])
    else {
      throw .malformed("The request line does not end in a version such as HTTP/1.1.")
    }
    switch (buffer[start + 5], buffer[start + 7]) {
    case (0x31, 0x31): return .http11
    case (0x31, 0x30): return .http10
    // A later 1.x is a superset that a 1.1 recipient can handle (RFC 9110 section 2.5).
    case (0x31, _): return .http11
    default:
      throw ProtocolProblem(.versionNotSupported, "This server speaks HTTP/1.1 and HTTP/1.0.")
    }
  }
}

/// The parts of a request target, in each of its forms (RFC 9112 section 3.2).
private struct TargetParts {
  var path: Range<Int>
  var query: Range<Int>?
  var authority: Range<Int>?

  init(_ buffer: [UInt8], _ range: Range<Int>, _ method: HTTPMethod) throws(ProtocolProblem) {
    if method == .other("CONNECT") {
      throw ProtocolProblem(.notImplemented, "This server opens no tunnels.")
    }
    if buffer[range.lowerBound] == 0x2F {
      path = range
      splitQuery(buffer, range)
      return
    }
    if range.count == 1, buffer[range.lowerBound] == 0x2A, method == .options {
      path = range
      return
    }
    guard let schemeEnd = Self.schemeEnd(buffer, range) else {
      throw .malformed("The target is neither a path nor an absolute http or https URL.")
    }
    var end = schemeEnd
    while end < range.upperBound, buffer[end] != 0x2F, buffer[end] != 0x3F { end += 1 }
    guard HostReading.isValid(buffer, schemeEnd..<end) else {
      throw .malformed("The target's host is not valid.")
    }
    authority = schemeEnd..<end
    path = end..<range.upperBound
    splitQuery(buffer, path)
  }

  private mutating func splitQuery(_ buffer: [UInt8], _ range: Range<Int>) {
    guard let mark = buffer[range].firstIndex(of: 0x3F) else { return }
    path = range.lowerBound..<mark
    query = mark + 1..<range.upperBound
  }

  /// The index after `http://` or `https://`, in any case.
  private static func schemeEnd(_ buffer: [UInt8], _ range: Range<Int>) -> Int? {
    for scheme: StaticString in ["http://", "https://"] {
      let end = range.lowerBound + scheme.utf8CodeUnitCount
      if end <= range.upperBound,
        ASCII.equalsIgnoringCase(buffer, range.lowerBound..<end, scheme)
      {
        return end
      }
    }
    return nil
  }
}

/// `uri-host [ ":" port ]` (RFC 3986 section 3.2.2), which must not be empty.
enum HostReading {
  static func isValid(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    guard let first = bytes[range].first else { return false }
    var index = range.lowerBound
    if first == 0x5B {
      index += 1
      let start = index
      while index < range.upperBound, isAddressByte(bytes[index]) { index += 1 }
      guard index - start >= 2, index < range.upperBound, bytes[index] == 0x5D else { return false }
      index += 1
    } else {
      while index < range.upperBound, CharacterClass.isHost(bytes[index]) { index += 1 }
      guard index > range.lowerBound else { return false }
    }
    if index == range.upperBound { return true }
    return bytes[index] == 0x3A && isPort(bytes, index + 1..<range.upperBound)
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    CharacterClass.hexValue(byte) != nil || byte == 0x3A || byte == 0x2E
  }

  /// Whether a text is a port: up to five digits, at most 65535.
  ///
  /// An empty port is allowed, and means the scheme's own.
  private static func isPort(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    guard range.count <= 5, bytes[range].allSatisfy(CharacterClass.isDigit) else { return false }
    return bytes[range].reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65535
  }
}
