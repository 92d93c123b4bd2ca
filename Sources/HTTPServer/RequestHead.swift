/// A request method; the registered ones that matter here by name, any other as text.
package enum HTTPMethod: Sendable, Hashable, CustomStringConvertible {
  case get, head, post, put, patch, delete, options
  /// Any other token as it was sent: methods are case-sensitive (RFC 9110 section 9.1).
  case other(String)

  /// The method as written on the request line.
  package var description: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other(let name): name
    }
  }

  /// Makes the method that a token names.
  package init(_ token: some Sequence<UInt8>) {
    let name = String(decoding: Array(token), as: UTF8.self)
    switch name {
    case "GET": self = .get
    case "HEAD": self = .head
    case "POST": self = .post
    case "PUT": self = .put
    case "PATCH": self = .patch
    case "DELETE": self = .delete
    case "OPTIONS": self = .options
    default: self = .other(name)
    }
  }
}

/// The HTTP versions of this server.
package enum HTTPVersion: Sendable {
  case http10, http11
}

/// How a request's body is delimited (RFC 9112 section 6.3).
package enum BodyFraming: Sendable, Equatable {
  case none
  /// `Content-Length`, which may be 0.
  case length(Int64)
  case chunked
}

/// A request line and its fields, as one array of bytes and ranges into it.
///
/// Field values are looked up without making strings. It is an immutable class, since it is handed
/// from call to call until the request has its response.
package final class RequestHead: Sendable {
  /// One field's place in ``RequestHead/bytes``.
  package struct Field: Sendable {
    let nameStart: UInt32
    let nameEnd: UInt32
    let valueStart: UInt32
    let valueEnd: UInt32
  }

  /// The head as it arrived, from the method to the empty line.
  package let bytes: [UInt8]
  /// The method.
  package let method: HTTPMethod
  /// The version.
  package let version: HTTPVersion
  /// How the body is delimited.
  package let framing: BodyFraming
  /// Whether the sender wants to keep the connection (RFC 9112 section 9.3).
  package let wantsKeepAlive: Bool
  /// Whether the sender waits for `100 Continue` before it sends the body.
  package let expectsContinue: Bool
  /// The fields' places, in order.
  package let fields: [Field]

  let targetRange: Range<Int>
  let pathRange: Range<Int>
  let queryRange: Range<Int>?
  let authorityRange: Range<Int>?

  init(
    bytes: [UInt8], method: HTTPMethod, version: HTTPVersion, framing: BodyFraming,
    wantsKeepAlive: Bool, expectsContinue: Bool, fields: [Field], targetRange: Range<Int>,
    pathRange: Range<Int>, queryRange: Range<Int>?, authorityRange: Range<Int>?
  ) {
    self.bytes = bytes
    self.method = method
    self.version = version
    self.framing = framing
    self.wantsKeepAlive = wantsKeepAlive
    self.expectsContinue = expectsContinue
    self.fields = fields
    self.targetRange = targetRange
    self.pathRange = pathRange
    self.queryRange = queryRange
    self.authorityRange = authorityRange
  }

  /// The same without the fields of a name.
  package func removing(_ name: StaticString) -> RequestHead {
    RequestHead(
      bytes: bytes, method: method, version: version, framing: framing,
      wantsKeepAlive: wantsKeepAlive, expectsContinue: expectsContinue,
      fields: fields.filter { !isNamed($0, name) }, targetRange: targetRange,
      pathRange: pathRange, queryRange: queryRange, authorityRange: authorityRange)
  }

  /// The whole request target, byte for byte.
  package var target: ArraySlice<UInt8> { bytes[targetRange] }

  /// The path, byte for byte, still percent-encoded; `*` for `OPTIONS *`.
  ///
  /// It is `/` if an absolute target has none.
  package var path: ArraySlice<UInt8> { pathRange.isEmpty ? [0x2F] : bytes[pathRange] }

  /// The query after the first `?`, byte for byte; nil if there is none.
  package var query: ArraySlice<UInt8>? { queryRange.map { bytes[$0] } }

  /// The host and port of an absolute target, which replace the `Host` field (RFC 9112 section
  /// 3.2.2); nil for a path.
  package var authority: ArraySlice<UInt8>? { authorityRange.map { bytes[$0] } }

  /// A field's name, as it was sent.
  package func name(of field: Field) -> ArraySlice<UInt8> {
    bytes[Int(field.nameStart)..<Int(field.nameEnd)]
  }

  /// A field's value, without the white space around it.
  package func value(of field: Field) -> ArraySlice<UInt8> {
    bytes[Int(field.valueStart)..<Int(field.valueEnd)]
  }

  /// The value of the first field of a name, ignoring case; nil if there is none.
  package func value(of name: StaticString) -> ArraySlice<UInt8>? {
    for field in fields where isNamed(field, name) { return value(of: field) }
    return nil
  }

  /// The values of all fields of a name, in order.
  package func values(of name: StaticString) -> [ArraySlice<UInt8>] {
    fields.filter { isNamed($0, name) }.map { value(of: $0) }
  }

  /// The number of fields of a name.
  package func count(of name: StaticString) -> Int {
    fields.reduce(0) { isNamed($1, name) ? $0 + 1 : $0 }
  }

  /// The value of the first field of a name as text; bytes that are not UTF-8 become U+FFFD.
  package func string(of name: StaticString) -> String? {
    value(of: name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether a field has a name, ignoring case.
  package func isNamed(_ field: Field, _ name: StaticString) -> Bool {
    ASCII.equalsIgnoringCase(
      bytes, Int(field.nameStart)..<Int(field.nameEnd), name)
  }
}
