import Forwarder
import JSON
import RelayCore

/// An envelope as another relay is given it: with all that its sender said of it.
///
/// Its key there is its sender's, or else the one by which any upstream recognises a repeat, so
/// what is handed on twice is stored once. Its lane is handed on in order, so nothing waits there
/// for numbers that have ended here.
struct HandedOn {
  private let envelope: DeliverableEnvelope
  private let entry: LineEntry
  private let terms: SenderTerms
  private let upstream: String

  /// - Parameter upstream: The upstream's name at the next relay.
  init(
    _ envelope: DeliverableEnvelope, _ entry: LineEntry, _ terms: SenderTerms, to upstream: String
  ) {
    self.envelope = envelope
    self.entry = entry
    self.terms = terms
    self.upstream = upstream
  }

  /// The key under which the next relay stores it.
  var key: String { envelope.key ?? envelope.idempotencyKey }

  /// What any upstream recognises a repeat by, unless the sender gave it something else.
  var idempotencyKey: String { envelope.idempotencyKey }

  /// `Via` of the way that it has come, which the post that carries it is to have.
  var way: HeaderBlock {
    var fields = HeaderBlock()
    for field in envelope.content.headers where field.isNamed("Via") {
      fields.append(name: field.name, value: field.value)
    }
    return fields
  }

  // MARK: - As one of many

  /// A post to `/v1/envelopes`, on one line.
  ///
  /// - Returns: nil if it needs a request of its own, since its body stands in a file, or a field
  ///   holds what no JSON text can.
  func post() -> [UInt8]? {
    guard case .inline(let body) = envelope.content.body, let fields = fields() else { return nil }
    var json = JSONWriter(reserving: body.count + envelope.content.headers.bytes.count + 512)
    json.object { json in
      json.member("client", envelope.client)
      json.member("lane", terms.lane)
      json.member("key", key)
      if let sequence = terms.sequence {
        json.member("sequence", sequence)
        json.member("inOrder", true)
      }
      if let tag = terms.tag { json.member("tag", tag) }
      if let coalesce = terms.coalesce { json.member("coalesce", coalesce) }
      json.member("upstream", upstream)
      json.member("method", envelope.content.method)
      json.member("path", String(decoding: envelope.content.target, as: UTF8.self))
      write(fields, to: &json)
      write(body, to: &json)
      if entry.expiresAt < .never { json.member("expiresAt", RFC3339.format(entry.expiresAt)) }
      json.member("onFailure", entry.onFailure.rawValue)
      if envelope.references { json.member("references", true) }
    }
    return json.finish()
  }

  /// A name and all its values, in the order in which they were sent.
  private typealias Field = (name: String, values: [String])

  /// The sender's fields; nil if one of them is not UTF-8.
  private func fields() -> [Field]? {
    var fields: [Field] = []
    var hasIdempotencyKey = false
    for field in envelope.content.headers where !ConnectionField.isWrittenByRelay(field.name) {
      guard let value = String(validating: field.value, as: UTF8.self) else { return nil }
      if field.isNamed("Idempotency-Key") {
        guard !value.isEmpty else { continue }
        hasIdempotencyKey = true
      }
      let name = String(decoding: field.name, as: UTF8.self)
      if let index = fields.firstIndex(where: { isSame($0.name, field) }) {
        fields[index].values.append(value)
      } else {
        fields.append((name, [value]))
      }
    }
    if !hasIdempotencyKey { fields.append(("Idempotency-Key", [envelope.idempotencyKey])) }
    return fields
  }

  private func isSame(_ name: String, _ field: HeaderBlock.Field) -> Bool {
    FieldSyntax.equalIgnoringCase(Array(name.utf8)[...], field.name)
  }

  private func write(_ fields: [Field], to json: inout JSONWriter) {
    json.memberObject("headers") { json in
      for (name, values) in fields {
        if values.count == 1 {
          json.member(name, values[0])
        } else {
          json.memberArray(name) { json in for value in values { json.string(value) } }
        }
      }
    }
  }

  /// JSON on one line stands as it is, so that it can be read on its way; all else as Base64.
  private func write(_ body: [UInt8], to json: inout JSONWriter) {
    guard !body.isEmpty else { return }
    if isPlainJSON(body) {
      json.member("body", raw: body)
    } else {
      json.member("bodyBase64", Base64.text(of: body))
    }
  }

  /// The deepest nesting of a body that stands as it is: the post around it is one level itself.
  private static let bodyDepthMax = JSONLimits.depthMax - 1

  /// Whether the next relay takes the bytes for JSON, stores them as they are, and adds no field.
  private func isPlainJSON(_ body: [UInt8]) -> Bool {
    guard body[0] == UInt8(ascii: "{") || body[0] == UInt8(ascii: "["),
      envelope.content.headers.contains(where: { $0.isNamed("Content-Type") }),
      body.place(of: 0x0A, from: 0) == nil, body.place(of: 0x0D, from: 0) == nil,
      let value = try? JSONValue.parse(body, depthMax: Self.bodyDepthMax)
    else { return false }
    return value.raw.count == body.count
  }

  // MARK: - By itself

  /// Fields that a relay takes for itself: what they say to the upstream is carried under another
  /// name.
  private static let takenByRelays: [StaticString] = ["Origin", "Prefer", "Sec-Fetch-Site"]

  /// The request to `/v1/relay`, as which it goes by itself.
  ///
  /// - Parameter replaced: Whether a field would be replaced by one of this relay's own.
  func content(_ replaced: (HeaderBlock.Field) -> Bool = { _ in false }) -> EnvelopeContent {
    var content = envelope.content
    content.target = Array("/v1/relay/\(upstream)".utf8) + content.target
    guard content.headers.contains(where: { isCarried($0, replaced) }) else { return content }
    var headers = HeaderBlock()
    for field in content.headers where !isCarried(field, replaced) {
      headers.append(name: field.name, value: field.value)
    }
    content.headers = headers
    return content
  }

  private func isCarried(
    _ field: HeaderBlock.Field, _ replaced: (HeaderBlock.Field) -> Bool
  ) -> Bool {
    Self.takenByRelays.contains { field.isNamed($0) } || replaced(field)
  }

  /// The fields by which the next relay is told the rest.
  ///
  /// - Parameter replaced: As for ``content(_:)``.
  func termFields(_ replaced: (HeaderBlock.Field) -> Bool = { _ in false }) -> HeaderBlock {
    var fields = HeaderBlock()
    fields.append(name: "Waystation-Key", value: key)
    fields.append(name: "Waystation-Lane", value: terms.lane)
    if let sequence = terms.sequence {
      fields.append(name: "Waystation-Sequence", value: String(sequence))
      fields.append(name: "Waystation-In-Order", value: "true")
    }
    if let tag = terms.tag { fields.append(name: "Waystation-Tag", value: tag) }
    if let coalesce = terms.coalesce {
      fields.append(name: "Waystation-Coalesce", value: coalesce)
    }
    if entry.expiresAt < .never {
      fields.append(name: "Waystation-Expires-At", value: RFC3339.format(entry.expiresAt))
    }
    fields.append(name: "Waystation-On-Failure", value: entry.onFailure.rawValue)
    if envelope.references { fields.append(name: "Waystation-References", value: "true") }
    for field in envelope.content.headers where isCarried(field, replaced) {
      fields.append(
        name: Array("\(ConnectionField.carryingPrefix)".utf8) + field.name, value: field.value)
    }
    return fields
  }
}

extension AttemptRequest {
  /// Turns an envelope's own request into one that hands it on.
  mutating func handOn(_ envelope: HandedOn) {
    let target = target
    let replaced = { (field: HeaderBlock.Field) in target.replaces(field) }
    content = envelope.content(replaced)
    responseBodyBytesMax = RelayRefusal.bytesMax
    idempotencyKey = envelope.idempotencyKey
    termFields = envelope.termFields(replaced)
  }
}
