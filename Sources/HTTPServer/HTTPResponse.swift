import RelayCore

/// A response: status, fields and body.
///
/// The server adds the fields of the connection: `Content-Length` or `Transfer-Encoding`,
/// `Connection`, and `Date` unless there is one.
package struct HTTPResponse: Sendable {
  /// The status, 200 to 999; any other is sent as 500.
  package var status: Int
  /// The fields.
  package var headers: ResponseFields
  /// The body; not sent if the request was HEAD, or the status is 204 or 304.
  package var body: ResponseBody
  /// Whether to close the connection after this response.
  package var closesConnection = false
  /// The handler's note for the access log.
  package var note: (any ExchangeNote)?

  /// Puts a response together.
  package init(
    status: Int, headers: ResponseFields = ResponseFields(), body: ResponseBody = .empty
  ) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

extension HTTPResponse {
  /// Appends it as a message that says how long it is; false, with nothing appended, if its body is
  /// not in memory.
  package func append(asMessageTo bytes: inout [UInt8]) -> Bool {
    let content: [UInt8]
    switch body {
    case .empty: content = []
    case .bytes(let bytes): content = bytes
    case .source, .stream: return false
    }
    ResponseHeadWriter.append(self, contentLength: Int64(content.count), to: &bytes)
    bytes.append(contentsOf: content)
    return true
  }
}

/// The body of a response.
package enum ResponseBody: Sendable {
  /// None; `Content-Length: 0`.
  case empty
  /// Bytes in memory.
  case bytes([UInt8])
  /// Bytes that are fetched piece by piece, with one piece in memory at a time.
  ///
  /// `next` returns the pieces in order, and nil at the end. The pieces must add up to `length`. If
  /// they do not, or `next` throws, the connection is cut, so that the peer notices.
  case source(length: Int64, next: @Sendable () async throws -> [UInt8]?)
  /// Bytes whose number is not known in advance, such as events: sent chunked.
  ///
  /// The response ends when the closure returns; if it throws, the connection is cut.
  case stream(@Sendable (ResponseWriter) async throws -> Void)
}

extension ResponseBody {
  /// The length in bytes; nil for a stream.
  var length: Int64? {
    switch self {
    case .empty: 0
    case .bytes(let bytes): Int64(bytes.count)
    case .source(let length, _): length
    case .stream: nil
    }
  }
}

/// The fields of a response in the order in which they were added, ready to be sent.
///
/// Kept as bytes in wire form, so that building a block is appending to one array. Fields that
/// belong to the connection (`Connection`, `Content-Length`, `Keep-Alive`, `Trailer`,
/// `Transfer-Encoding`, `Upgrade`) are not accepted: only the server frames its responses.
package struct ResponseFields: Sendable {
  /// `Name: value` lines, each ended by CRLF.
  package private(set) var bytes: [UInt8]
  /// Whether a `Date` was added, so that the server need not.
  package private(set) var hasDate: Bool

  /// No fields.
  package init() {
    bytes = []
    hasDate = false
  }

  /// Adds a field.
  ///
  /// - Precondition: the name is a token, and none that belongs to the connection.
  package mutating func add(_ name: StaticString, _ value: String) {
    // As plain buffers: iterating over a string's bytes is several times slower.
    name.withUTF8Buffer { name in
      assert(name.allSatisfy(CharacterClass.isToken) && !Self.isReserved(name))
      value.utf8Span.span.withUnsafeBufferPointer { value in append(name, value) }
    }
  }

  /// Adds a field.
  package mutating func add(_ name: StaticString, _ value: Int) {
    add(name, String(value))
  }

  /// Adds a field from elsewhere, such as an upstream's answer.
  ///
  /// CR, LF, NUL and other control characters in the value become spaces (RFC 9110 section 5.5). A
  /// name that is not a token is refused, and so is one that belongs to the connection.
  ///
  /// - Returns: Whether the field was added.
  @discardableResult
  package mutating func add(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>) -> Bool {
    name.withUnsafeBufferPointer { name in
      guard !name.isEmpty, name.allSatisfy(CharacterClass.isToken), !Self.isReserved(name) else {
        return false
      }
      value.withUnsafeBufferPointer { value in append(name, value) }
      return true
    }
  }

  private mutating func append(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
  ) {
    // Most responses have two or three short fields.
    if bytes.isEmpty { bytes.reserveCapacity(max(128, name.count + value.count + 4)) }
    if Self.matches(name, "date") { hasDate = true }
    bytes.append(contentsOf: name)
    bytes.append(0x3A)
    bytes.append(0x20)
    if value.allSatisfy(CharacterClass.isField) {
      bytes.append(contentsOf: value)
    } else {
      for byte in value { bytes.append(CharacterClass.isField(byte) ? byte : 0x20) }
    }
    bytes.append(0x0D)
    bytes.append(0x0A)
  }

  /// The value of the first field of a name, ignoring case; nil if there is none.
  package func first(_ name: StaticString) -> String? {
    for line in bytes.split(separator: 0x0A) {
      guard let colon = line.firstIndex(of: 0x3A), Self.matches(line[..<colon], name) else {
        continue
      }
      return String(decoding: line[(colon + 2)...].dropLast(), as: UTF8.self)
    }
    return nil
  }

  private static func isReserved(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    switch name.count {
    case 7: matches(name, "trailer") || matches(name, "upgrade")
    case 10: matches(name, "connection") || matches(name, "keep-alive")
    case 14: matches(name, "content-length")
    case 17: matches(name, "transfer-encoding")
    default: false
    }
  }

  /// A function of this module rather than of `FieldSyntax`, since it is called with slices and
  /// buffers.
  private static func matches(_ name: some Collection<UInt8>, _ other: StaticString) -> Bool {
    guard name.count == other.utf8CodeUnitCount else { return false }
    return other.withUTF8Buffer { other in
      zip(name, other).allSatisfy { FieldSyntax.lowercased($0) == FieldSyntax.lowercased($1) }
    }
  }
}
