import JSON
import RelayCore

/// All that there is to know of one field of an envelope, as its sender says it.
///
/// Envelopes in JSON, corrections of them and requests on `/v1/relay` are read by these records.
/// `openapi.yaml` and the table of `docs/protocol.md` are compared with them by a test, and another
/// follows each field to where it is to arrive.
struct EnvelopeField: Sendable {
  /// Its name in JSON.
  let name: StaticString
  /// The header field that says it on `/v1/relay`; nil where the request itself does.
  let header: StaticString?
  /// Whether it is said once and for all: no correction changes it.
  let isFixed: Bool
  /// Takes its value in JSON.
  let read: @Sendable (inout EnvelopeFields, JSONValue) throws(Problem) -> Void
  /// Takes its header field's value.
  let readHeader: @Sendable (inout EnvelopeTerms, ArraySlice<UInt8>) throws(Problem) -> Void

  /// A field of the request itself, or one that no request on `/v1/relay` has.
  private init(
    _ name: StaticString, isFixed: Bool = false,
    read: @escaping @Sendable (inout EnvelopeFields, JSONValue) throws(Problem) -> Void
  ) {
    self.name = name
    self.read = read
    header = nil
    self.isFixed = isFixed
    readHeader = { _, _ in }
  }

  /// A term.
  ///
  /// - Parameter check: What the value has to pass besides; it is told how the sender writes the
  ///   field.
  private init<Value>(
    _ name: StaticString, _ header: StaticString,
    _ path: any WritableKeyPath<EnvelopeTerms, Value?> & Sendable, _ form: TermForm<Value>,
    isFixed: Bool = false,
    check: (@Sendable (Value, _ field: String) throws(Problem) -> Void)? = nil
  ) {
    self.name = name
    self.header = header
    self.isFixed = isFixed
    read = { (fields, json) throws(Problem) in
      guard let value = form.json(json) else {
        throw EnvelopeFields.wrong(name.description, json, form.rule)
      }
      try check?(value, "/\(name)")
      fields.terms[keyPath: path] = value
    }
    readHeader = { (terms, text) throws(Problem) in
      guard terms[keyPath: path] == nil else {
        throw .invalidField(
          header.description, "\(header) is given twice.", fix: "Give the field once.")
      }
      guard let value = form.text(text) else {
        let shown = String(decoding: text, as: UTF8.self).quoted
        throw .invalidField(
          header.description, "\(header) is \(shown); it has to be \(form.rule).")
      }
      try check?(value, header.description)
      terms[keyPath: path] = value
    }
  }

  /// The sender's own key.
  private static let key = EnvelopeField(
    "key", "Waystation-Key", \.key, .name, isFixed: true,
    check: { (key, field) throws(Problem) in
      guard !AccessToken.isHeld(in: Array(key.utf8)[...]) else {
        throw .invalidField(
          field, "The key holds a token of the relay's, which must not be sent on.",
          fix: "Choose another key.")
      }
    })

  /// The key of a request on `/v1/relay` that has no field for it alone: what the upstream is to
  /// know repeats by, which goes on to it.
  static let idempotencyKey = EnvelopeField(
    "key", "Idempotency-Key", \.key, .name, isFixed: true)

  /// Every field that there is; those that most senders use come first, since a field is looked
  /// for from the beginning.
  static let all: [EnvelopeField] = [
    EnvelopeField("client", "Waystation-Client", \.client, .name, isFixed: true),
    EnvelopeField("path") { (fields, json) throws(Problem) in fields.path = json },
    EnvelopeField("body") { (fields, json) throws(Problem) in try fields.readBody(json) },
    key,
    EnvelopeField("upstream") { (fields, json) throws(Problem) in try fields.readUpstream(json) },
    EnvelopeField("method") { (fields, json) throws(Problem) in try fields.readMethod(json) },
    EnvelopeField("headers") { (fields, json) throws(Problem) in try fields.readHeaders(json) },
    EnvelopeField("bodyBase64") { (fields, json) throws(Problem) in
      try fields.readBase64(json)
    },
    EnvelopeField("lane", "Waystation-Lane", \.lane, .name, isFixed: true),
    EnvelopeField("sequence", "Waystation-Sequence", \.sequence, .sequence, isFixed: true),
    EnvelopeField("tag", "Waystation-Tag", \.tag, .name),
    EnvelopeField("hold", "Waystation-Hold", \.hold, .flag),
    EnvelopeField("notBefore", "Waystation-Not-Before", \.notBefore, .time),
    EnvelopeField("expiresAt", "Waystation-Expires-At", \.expiresAt, .time),
    EnvelopeField("notBeforeIn", "Waystation-Not-Before-In", \.relative.notBeforeIn, .span),
    EnvelopeField("expiresIn", "Waystation-Expires-In", \.relative.expiresIn, .span),
    EnvelopeField("age", "Waystation-Age", \.relative.age, .span, isFixed: true),
    EnvelopeField("onFailure", "Waystation-On-Failure", \.onFailure, .policy),
    EnvelopeField("coalesce", "Waystation-Coalesce", \.coalesce, .name, isFixed: true),
    EnvelopeField("references", "Waystation-References", \.references, .flag),
    EnvelopeField("inOrder", "Waystation-In-Order", \.inOrder, .flag, isFixed: true),
    EnvelopeField("void", isFixed: true) { (fields, json) throws(Problem) in
      guard let isVoid = TermForm<Bool>.flag.json(json) else {
        throw EnvelopeFields.wrong("void", json, TermForm<Bool>.flag.rule)
      }
      fields.isVoid = isVoid
    },
  ]

  /// The names alone, in the same order.
  ///
  /// To look for a name among the records would copy each of them, which counts four references up
  /// and down.
  private static let places = all.map(\.name)

  /// Takes a member of an envelope in JSON.
  ///
  /// - Returns: Whether there is a field of its name.
  static func read(
    _ member: JSONMember, into fields: inout EnvelopeFields
  ) throws(Problem) -> Bool {
    guard let place = places.firstIndex(where: member.name.equals) else { return false }
    try all[place].read(&fields, member.value)
    return true
  }

  /// The names of all fields.
  static let names = all.map(\.name.description)
  /// The names of those that a sender says once and for all.
  static let fixedNames = Set(all.filter(\.isFixed).map(\.name.description))
  /// The fields that the relay alone reads on `/v1/relay`.
  static let relayed = all.filter { $0.header != nil }
  /// The names of their header fields.
  static let relayedNames = relayed.compactMap { $0.header?.description }
}
