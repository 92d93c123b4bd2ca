import Cryptography
import JSON
import RelayCore

/// One request made of several envelopes, and what is to become of those that are not in it.
///
/// A pure value: it is given the envelopes and the form, and says the rest. Within a lane it takes
/// a beginning of what it is given, so that nothing overtakes what stands before it.
struct BatchRequest {
  /// The envelopes in it, in the order of their bodies.
  private(set) var members: [DeliverableEnvelope] = []
  /// The request's body.
  private(set) var body: [UInt8] = []
  /// Envelopes that need a request of their own.
  private(set) var alone: [Serial] = []
  /// Envelopes that go another time, since the request is full or has other fields.
  private(set) var left: [Serial] = []
  /// Envelopes that do not wait any more.
  private(set) var vanished: [Serial] = []

  private let form: BatchForm
  /// The most bytes of a body with several envelopes, within those of the form.
  private let sharedBytesMax: Int
  private let terms: [Serial: SenderTerms]
  private var fields = HeaderBlock()
  private var isFull = false
  /// Lanes of which nothing more goes into it.
  private var closed: Set<LaneNumber> = []

  /// Puts a request together.
  ///
  /// - Parameters:
  ///   - contents: Those of the envelopes that still wait.
  ///   - terms: What their senders said of them; needed only for another relay.
  ///   - unreadable: Envelopes that could not be read.
  ///   - bytesMax: The most bytes of a body with several envelopes, if the upstream has shown a
  ///     limit. One that has more by itself goes as the only one.
  init(
    of entries: [LineEntry], _ contents: [Serial: DeliverableEnvelope],
    terms: [Serial: SenderTerms] = [:], unreadable: Set<Serial> = [], as form: BatchForm,
    bytesMax: Int? = nil
  ) {
    self.form = form
    sharedBytesMax = min(form.bytesMax, bytesMax ?? .max)
    self.terms = terms
    reserveRoom(for: contents)
    for entry in entries {
      guard !unreadable.contains(entry.serial) else {
        closed.insert(entry.lane)
        alone.append(entry.serial)
        continue
      }
      guard let envelope = contents[entry.serial], !form.isRelay || terms[entry.serial] != nil
      else {
        vanished.append(entry.serial)
        continue
      }
      add(envelope, entry)
    }
    if form.format == .json, !members.isEmpty { body.append(UInt8(ascii: "]")) }
  }

  /// Makes room for the bodies, so that what is there already is not copied for each that follows.
  private mutating func reserveRoom(for contents: [Serial: DeliverableEnvelope]) {
    var bytes = 0
    for envelope in contents.values {
      // Each has a separator, and the array its brackets.
      if case .inline(let body) = envelope.content.body { bytes += body.count + 1 }
    }
    body.reserveCapacity(min(bytes + 2, sharedBytesMax))
    members.reserveCapacity(contents.count)
  }

  private mutating func add(_ envelope: DeliverableEnvelope, _ entry: LineEntry) {
    let lane = entry.lane
    guard !isFull, !closed.contains(lane) else { return left.append(envelope.serial) }
    let draft = BatchItem(envelope, handedOn(envelope, entry), form)
    // Before its body is read: there may be hundreds that go another way.
    guard let draft, members.isEmpty || draft.fields == fields else {
      closed.insert(lane)
      return draft == nil ? alone.append(envelope.serial) : left.append(envelope.serial)
    }
    guard let item = draft.body(), item.count + form.separatorBytes <= form.bytesMax else {
      closed.insert(lane)
      return alone.append(envelope.serial)
    }
    if members.isEmpty { fields = draft.fields }
    guard members.isEmpty || body.count + item.count + form.separatorBytes <= sharedBytesMax
    else {
      isFull = true
      return left.append(envelope.serial)
    }
    append(item)
    members.append(envelope)
  }

  private func handedOn(_ envelope: DeliverableEnvelope, _ entry: LineEntry) -> HandedOn? {
    guard let upstream = form.upstream, let terms = terms[envelope.serial] else { return nil }
    return HandedOn(envelope, entry, terms, to: upstream)
  }

  private mutating func append(_ item: [UInt8]) {
    switch form.format {
    case .ndjson, .waystation:
      body.append(contentsOf: item)
      body.append(UInt8(ascii: "\n"))
    case .json:
      body.append(UInt8(ascii: members.isEmpty ? "[" : ","))
      body.append(contentsOf: item)
    }
  }

  /// The request itself.
  var content: EnvelopeContent {
    var headers = fields
    let type = form.format == .json ? "application/json" : "application/x-ndjson"
    headers.append(name: "Content-Type", value: type)
    return EnvelopeContent(
      method: "POST", target: Array(form.path.utf8), headers: headers, body: .inline(body))
  }

  /// The name by which the upstream recognises a repeat: the same for the same envelopes with the
  /// same content in the same order, and for no others.
  var idempotencyKey: String {
    var digest = SHA256()
    for member in members { digest.update("\(member.idempotencyKey)\n".utf8) }
    digest.update(fields.bytes)
    digest.update(body)
    return "batch-\(Hexadecimal.encode(digest.finish().prefix(Self.keyBytes)))"
  }

  /// The bytes of a digest that a key is made of: enough that no two batches ever share them.
  private static let keyBytes = 16
}

/// What goes into a batch of one envelope.
private struct BatchItem {
  /// The fields that the batch has to have as well.
  private(set) var fields = HeaderBlock()
  private let content: EnvelopeContent
  private let handedOn: HandedOn?

  /// nil if the envelope needs a request of its own.
  ///
  /// - Parameter handedOn: Its post to another relay; nil if it goes to none.
  init?(_ envelope: DeliverableEnvelope, _ handedOn: HandedOn?, _ form: BatchForm) {
    content = envelope.content
    self.handedOn = handedOn
    if let handedOn {
      // Its own fields stand in the post, so that any two that came the same way can go together.
      fields = handedOn.way
      return
    }
    // An upstream is told of each number of an evidence lane, in fields of its own.
    guard !envelope.references, envelope.evidence == nil, content.method == "POST",
      form.takes(path: content.target),
      case .inline = content.body
    else { return nil }
    var isJSON = false
    for field in content.headers {
      if field.isNamed("Content-Type") {
        isJSON = Self.isJSON(field.value)
      } else if field.isNamed("Content-Encoding") || field.isNamed("Content-Range") {
        return nil
      } else if !Self.ownFields.contains(where: { field.isNamed($0) }) {
        fields.append(name: field.name, value: field.value)
      }
    }
    guard isJSON else { return nil }
  }

  /// One JSON value, on one line; nil if the envelope needs a request of its own.
  func body() -> [UInt8]? {
    if let handedOn { return handedOn.post() }
    guard case .inline(let bytes) = content.body, let value = try? JSONValue.parse(bytes) else {
      return nil
    }
    let isBare = value.range.count == bytes.count
    var body = isBare ? bytes : Array(value.raw)
    // White space: within a text no line break stands as such (RFC 8259 section 7).
    body.replace(0x0A, by: 0x20)
    body.replace(0x0D, by: 0x20)
    return body
  }

  /// Fields that are one envelope's own, and say nothing of its body.
  private static let ownFields: [StaticString] = [
    "Idempotency-Key", "traceparent", "tracestate", "Via",
  ]

  private static func isJSON(_ value: ArraySlice<UInt8>) -> Bool {
    if FieldSyntax.equals(value, "application/json") { return true }
    let type = value.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
    let name = String(decoding: type, as: UTF8.self).lowercased()
    return name == "application/json" || name.hasSuffix("+json")
  }
}

extension BatchForm {
  /// The bytes that come with an item: a line's end, or what stands before an element and the
  /// bracket behind the last one.
  fileprivate var separatorBytes: Int { format == .json ? 2 : 1 }

  /// Whether an envelope with this path goes together with others; one with a query does not, since
  /// the query would be lost.
  fileprivate func takes(path target: [UInt8]) -> Bool {
    guard !target.contains(UInt8(ascii: "?")) else { return false }
    guard let from else { return true }
    return from.contains { $0.utf8.elementsEqual(target) }
  }
}
