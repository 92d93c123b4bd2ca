import Forwarder
import HTTPServer
import RelayCore

extension PassedRequest {
  /// The request as it came, with a field that says where.
  ///
  /// - Parameter origin: The value of the field.
  init(_ request: HTTPRequest, cameIn origin: [UInt8]) {
    let head = request.head
    var fields: [UInt8] = []
    fields.reserveCapacity(
      head.bytes.count + origin.count + PassedOrigin.fieldName.utf8CodeUnitCount)
    func append(_ name: some Collection<UInt8>, _ value: some Collection<UInt8>) {
      fields += name
      fields += [UInt8(ascii: ":"), UInt8(ascii: " ")]
      fields += value
      fields += [0x0D, 0x0A]
    }
    for field in head.fields {
      let name = head.name(of: field)
      if !Self.isOfConnection(name) { append(name, head.value(of: field)) }
    }
    // What the sender has said of its fields is for the other relay: this one uses none of them.
    let named = head.values(of: "Connection").flatMap(ConnectionField.names(in:))
      .filter { name in !Self.options.contains { FieldSyntax.equals(name, $0) } }
    if !named.isEmpty { append("Connection".utf8, Array(named.joined(separator: ", ".utf8))) }
    append(PassedOrigin.fieldName.description.utf8, origin)
    let whole = request.body.takeWhole()
    self.init(
      method: head.method.description, target: Array(head.target),
      fields: HeaderBlock(wellFormed: fields),
      body: whole.map { .whole($0) } ?? .pieces(length: request.body.knownLength),
      goesWithOthers: whole.map { Self.goesWithOthers(head, body: $0) } ?? false)
  }

  /// Whether it is a small post of one envelope, of which nothing says that its answer may take
  /// long or be long: all that go together are answered once the last of them is.
  private static func goesWithOthers(_ head: RequestHead, body: [UInt8]) -> Bool {
    guard head.method == .post, body.count <= PassedBundle.bodyBytesMax, head.query == nil,
      head.version == .http11, head.fields.count <= PassedBundle.fieldsMax,
      head.bytes.count <= PassedBundle.requestHeadBytesMax
    else { return false }
    // What may unpack to far more, an upload of which more is to come, and an answer that is waited
    // for.
    guard head.value(of: "Content-Encoding") == nil, head.value(of: "Upload-Complete") == nil,
      Preferences(head.values(of: "Prefer")).waitSeconds == nil
    else { return false }
    if head.path.starts(with: "/v1/relay/".utf8) { return true }
    return head.path.elementsEqual("/v1/envelopes".utf8) && isOneEnvelope(head, body)
  }

  /// Whether a post has an object in JSON, and not an array, or lines.
  private static func isOneEnvelope(_ head: RequestHead, _ body: [UInt8]) -> Bool {
    guard let type = head.value(of: "Content-Type"), body.first == UInt8(ascii: "{") else {
      return false
    }
    let json = Array("application/json".utf8)
    return FieldSyntax.equalIgnoringCase(type.prefix(json.count), json[...])
  }

  /// The same request, to be answered here: its body may have been taken already.
  func request(of request: HTTPRequest) -> HTTPRequest {
    guard case .whole(let bytes) = body else { return request }
    return HTTPRequest(head: request.head, body: RequestBody(bytes), origin: request.origin)
  }

  /// Whether its body comes piece by piece.
  var isStreamed: Bool {
    if case .pieces = body { true } else { false }
  }

  /// Another question from the same sender.
  func asking(_ method: String, _ target: [UInt8]) -> PassedRequest {
    PassedRequest(method: method, target: target, fields: fields, body: .whole([]))
  }

  /// The options of a connection that name no field.
  private static let options: [StaticString] = ["close", "keep-alive", "upgrade"]

  /// Whether a field ends here, and is not passed on.
  private static func isOfConnection(_ name: ArraySlice<UInt8>) -> Bool {
    ConnectionField.isOne(name) || FieldSyntax.equals(name, "Content-Length")
      || FieldSyntax.equals(name, "Expect") || FieldSyntax.equals(name, PassedOrigin.fieldName)
  }
}
