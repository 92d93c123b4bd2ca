import RelayCore

/// The fields of a request to an upstream in libcurl's form: a list of lines.
///
/// The sender's fields are passed on byte for byte and in order. Left out are the ones that end at
/// a relay (``ConnectionField``), the ones that libcurl writes (`Host`, `Content-Length`),
/// `Expect`, all `Waystation-*`, and all `webhook-*` if requests are signed, so that no sender can
/// pretend to be the relay. So are names with `_` in place of `-`, which CGI does not tell apart
/// (RFC 3875 section 4.1.18). Then the relay adds its own.
package struct OutgoingHeaders {
  /// The lines, one after another, each ended by NUL.
  package private(set) var text: [UInt8] = []
  /// The offset of each line in ``text``.
  package private(set) var starts: [Int] = []

  /// Makes an empty list.
  package init() {}

  private var options = ConnectionOptions()
  private var via: [UInt8] = []
  private var hasIdempotencyKey = false

  /// Replaces the content by the fields of one attempt.
  ///
  /// One value is used over and over, so that its memory is reused.
  package mutating func rebuild(for request: AttemptRequest) {
    rebuild(for: request, BodySignatures(), at: request.acceptedAt)
  }

  /// Replaces the content by the fields of one attempt and its signatures.
  ///
  /// - Parameter time: When the request is signed.
  mutating func rebuild(
    for request: AttemptRequest, _ signatures: BodySignatures, at time: WallTime
  ) {
    options.removeAll()
    copySenderFields(of: request)
    // The names in `Connection` are known only at the end; there are hardly ever any.
    if !options.isEmpty { copySenderFields(of: request) }
    appendOwnFields(of: request)
    if let signature = signatures.webhook { append(signature) }
    if let signing = request.target.awsSigning, let digest = signatures.digest {
      sign(request, with: signing, digest: digest, at: time)
    }
    appendSuppressions()
  }

  /// Replaces the content by fields as they are, and nothing else.
  mutating func rebuild(passing fields: HeaderBlock) {
    text.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
    appendAll(of: fields)
    appendSuppressions()
  }

  private mutating func append(_ signature: WebhookSignature) {
    append("webhook-id: ", signature.id)
    append("webhook-timestamp: ", String(signature.timestamp))
    append("webhook-signature: ", signature.signatures)
  }

  /// Appends an AWS signature of the request, and of those fields here that it covers.
  private mutating func sign(
    _ request: AttemptRequest, with signing: AWSSigning, digest: String, at time: WallTime
  ) {
    let target = Array(request.target.url.basePath.utf8) + request.content.target
    let signature = signing.sign(
      AWSSigning.Request(
        method: request.content.method, host: request.target.hostField, target: target,
        fields: signedFields(), bodyDigest: digest), at: time)
    append("X-Amz-Date: ", signature.date)
    append("X-Amz-Content-Sha256: ", digest)
    if let token = signing.sessionToken { append("X-Amz-Security-Token: ", token) }
    append("Authorization: ", signature.authorization)
  }

  private func signedFields() -> [(name: [UInt8], value: [UInt8])] {
    starts.compactMap { start in
      let line = text[start...].prefix { $0 != 0 }
      // A field without a value has a semicolon at its end, as libcurl wants it.
      guard let end = line.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") })
      else { return nil }
      let name = line[..<end].map(FieldSyntax.lowercased)
      return AWSSigning.signs(name.span) ? (name, Array(line[(end + 1)...])) : nil
    }
  }

  private mutating func copySenderFields(of request: AttemptRequest) {
    text.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
    via.removeAll(keepingCapacity: true)
    hasIdempotencyKey = false
    let block = request.content.headers.bytes
    var start = 0
    while let field = FieldRange(in: block.span, at: start) {
      copy(field, of: block, for: request)
      start = field.next
    }
  }

  private mutating func copy(_ field: FieldRange, of block: [UInt8], for request: AttemptRequest) {
    let target = request.target
    let name = block.span.extracting(field.name)
    switch Rule(name) {
    case .drop: return
    case .connection: options.add(block.span.extracting(field.value))
    case .via:
      if options.contain(name) { return }
      if !via.isEmpty { via.append(contentsOf: ", ".utf8) }
      via.append(contentsOf: block[field.value])
    case .idempotencyKey:
      // An empty one names nothing: the relay's own is sent instead.
      guard !field.value.isEmpty, !options.contain(name) else { return }
      hasIdempotencyKey = true
      append(field, of: block)
    case .replay: append(field, of: block)
    case .pass:
      guard !options.contain(name), !target.replaces(name) else { return }
      if request.traceParent != nil, name.equals(Self.traceParentName) { return }
      if name.holdsUnderscore, isTakenForOwn(block[field.name], target) { return }
      append(field, of: block)
    }
  }

  /// Whether an upstream that reads `_` as `-` would take the field for one of the relay's.
  private func isTakenForOwn(_ name: ArraySlice<UInt8>, _ target: UpstreamTarget) -> Bool {
    let folded = name.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
    return Rule(folded.span) != .pass || target.replaces(folded.span)
  }

  private mutating func append(_ field: FieldRange, of block: [UInt8]) {
    starts.append(text.count)
    if field.value.isEmpty {
      // libcurl's form for a field without a value; `name:` would leave the field out.
      text.append(contentsOf: block[field.name])
      text.append(UInt8(ascii: ";"))
    } else {
      text.append(contentsOf: block[field.name.lowerBound..<field.value.upperBound])
    }
    text.append(0)
  }

  private static let traceParentName: StaticString = "traceparent"

  private mutating func appendOwnFields(of request: AttemptRequest) {
    // RFC 9112 section 9.6. HTTP/2 has no such field, and libcurl leaves it out there.
    if !request.target.reusesConnections { append("Connection: ", "close") }
    if !request.isOwn { appendEnvelopeFields(of: request) }
    if let token = request.accessToken { append("Authorization: Bearer ", token.value) }
    appendAll(of: request.target.headers)
  }

  private mutating func appendAll(of block: HeaderBlock) {
    let bytes = block.bytes
    var start = 0
    while let field = FieldRange(in: bytes.span, at: start) {
      append(field, of: bytes)
      start = field.next
    }
  }

  private mutating func appendEnvelopeFields(of request: AttemptRequest) {
    appendVia(request.target.viaPseudonym)
    if let value = request.traceParent, !request.target.fixesTraceParent {
      append("traceparent: ", value)
    }
    if let count = request.batchCount {
      append("Idempotency-Key: ", request.idempotencyKey ?? request.id.description)
      append("Waystation-Batch: ", String(count))
      return
    }
    if !request.isVerification {
      if !hasIdempotencyKey {
        append("Idempotency-Key: ", request.idempotencyKey ?? request.id.description)
      }
      append("Waystation-Attempt: ", String(request.attempt))
    }
    append("Waystation-Accepted-At: ") { RFC3339.append(request.acceptedAt, to: &$0) }
    append("Waystation-Client: ", request.client)
    appendAll(of: request.termFields)
  }

  /// Appends `Via`, with this relay last; the sender's version counts as HTTP/1.1 (RFC 9110 section
  /// 7.6.3).
  private mutating func appendVia(_ pseudonym: String) {
    guard !via.isEmpty else { return append("Via: 1.1 ", pseudonym) }
    append("Via: ", via + Array(", 1.1 \(pseudonym)".utf8))
  }

  /// Keeps libcurl from adding fields of its own, by its form `name:`.
  ///
  /// libcurl skips these lines if the sender did send such a field.
  private mutating func appendSuppressions() {
    append("Accept:") { _ in }
    append("Content-Type:") { _ in }
    append("Expect:") { _ in }
  }

  private mutating func append(_ name: StaticString, _ value: String) {
    var value = value
    append(name) { text in value.withUTF8 { text.append(contentsOf: $0) } }
  }

  private mutating func append(_ name: StaticString, _ value: [UInt8]) {
    append(name) { $0.append(contentsOf: value) }
  }

  /// Appends a line whose value is written by `appendValue`.
  private mutating func append(_ name: StaticString, _ appendValue: (inout [UInt8]) -> Void) {
    starts.append(text.count)
    name.withUTF8Buffer { text.append(contentsOf: $0) }
    appendValue(&text)
    text.append(0)
  }

  /// Whether an operator may fix the value of a field of this name for an upstream.
  static func mayBeFixed(_ name: some Collection<UInt8>, isSigned: Bool) -> Bool {
    let bytes = Array(name)
    return Rule(bytes.span) == .pass
      && !(isSigned && bytes.span.begins(with: WebhookSigning.prefix))
  }
}

extension OutgoingHeaders {
  /// The handling of a sender's field, by its name.
  private enum Rule {
    case pass
    case drop
    case connection
    case via
    case idempotencyKey
    /// The relay's own mark, which it has put into the content itself; no sender's content has it.
    case replay

    init(_ name: Span<UInt8>) {
      self =
        switch name.count {
        case 3 where name.equals("via"): .via
        case 4 where name.equals("host"): .drop
        case 6 where name.equals("expect"): .drop
        case 10 where name.equals("connection"): .connection
        case 14 where name.equals("content-length"): .drop
        case 15 where name.equals("idempotency-key"): .idempotencyKey
        case 17 where name.equals("waystation-replay"): .replay
        default: ConnectionField.isOne(name) || name.begins(with: "waystation-") ? .drop : .pass
        }
    }
  }
}

extension UpstreamTarget {
  /// Whether a sender's field is not sent, since one of the relay's own stands in its place.
  package func replaces(_ field: HeaderBlock.Field) -> Bool { replaces(field.name.span) }

  /// Whether the relay's own fields replace a sender's of this name.
  fileprivate func replaces(_ name: Span<UInt8>) -> Bool {
    fixesField(name) || (signing != nil && name.begins(with: WebhookSigning.prefix))
      || (awsSigning != nil && AWSSigning.replaces(name))
      || (tokens != nil && name.equals("authorization"))
  }

  /// Whether the configuration sets `traceparent`.
  fileprivate var fixesTraceParent: Bool {
    headers.contains { $0.isNamed("traceparent") }
  }
}

extension Span<UInt8> {
  fileprivate var holdsUnderscore: Bool {
    for index in indices where self[index] == UInt8(ascii: "_") { return true }
    return false
  }
}

/// The ranges of one field's name and value in a ``HeaderBlock``'s bytes.
struct FieldRange {
  /// The name's bytes.
  let name: Range<Int>
  /// The value's bytes.
  let value: Range<Int>
  /// The offset of the next field.
  var next: Int { value.upperBound + 2 }

  /// The field that begins at `start`; nil at the end of the block.
  init?(in block: Span<UInt8>, at start: Int) {
    guard start < block.count else { return nil }
    var colon = start
    while block[colon] != UInt8(ascii: ":") { colon += 1 }
    var end = colon + 2
    while block[end] != 0x0D { end += 1 }
    name = start..<colon
    value = (colon + 2)..<end
  }
}
