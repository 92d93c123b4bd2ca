/// What was said when an upload was created: the envelope that it becomes once it is complete.
package struct UploadTerms: Sendable, Equatable {
  /// The envelope; its body is empty, and it has no fingerprint yet.
  package var draft: EnvelopeDraft
  /// The bytes that its fingerprint is taken of, up to the body.
  package var said: [UInt8]
  /// The SHA-256 of the whole body, as far as the sender has said it; else nil.
  package var digest: [UInt8]?

  /// Puts the terms together.
  package init(draft: EnvelopeDraft, said: [UInt8], digest: [UInt8]?) {
    self.draft = draft
    self.said = said
    self.digest = digest
  }
}

// How terms are stored: fields one after the other, each value with its length before it. The first
// byte is the version of the form.
extension UploadTerms {
  private static let version: UInt8 = 1

  /// The terms as they are stored.
  package var stored: [UInt8] {
    var writer = TermsWriter(bytes: [Self.version])
    writer.text(draft.client)
    writer.text(draft.lane)
    writer.text(draft.upstream)
    writer.text(draft.content.method)
    writer.field(draft.content.target)
    writer.field(draft.content.headers.bytes)
    writer.optional(draft.key.map { Array($0.utf8) })
    writer.optional(draft.sequence.map(TermsWriter.bytes(of:)))
    writer.optional(draft.tag.map { Array($0.utf8) })
    writer.optional(draft.notBefore.map { TermsWriter.bytes(of: $0.millisecondsSinceEpoch) })
    writer.optional(draft.coalesce.map { Array($0.utf8) })
    writer.field(TermsWriter.bytes(of: draft.expiresAt.millisecondsSinceEpoch))
    writer.text(draft.onFailure.rawValue)
    let flags: UInt8 =
      (draft.hold ? 1 : 0) | (draft.references ? 2 : 0) | (draft.isVoid ? 4 : 0)
      | (draft.isInOrder ? 8 : 0)
    writer.field([flags])
    writer.field(said)
    writer.optional(digest)
    return writer.bytes
  }

  /// Reads terms that were stored; nil for anything else.
  package init?(stored bytes: [UInt8]) {
    guard bytes.first == Self.version else { return nil }
    var reader = TermsReader(rest: bytes.dropFirst())
    let names = (reader.text(), reader.text(), reader.text(), reader.text())
    guard case (let client?, let lane?, let upstream?, let method?) = names,
      let target = reader.field(), let lines = reader.field(),
      let headers = HeaderBlock(stored: lines),
      let key = reader.optional(), let sequence = reader.optional(), let tag = reader.optional(),
      let notBefore = reader.optional(), let coalesce = reader.optional(),
      let expiresAt = reader.field(), let onFailure = reader.text().flatMap(FailurePolicy.init),
      let flags = reader.field()?.first, let said = reader.field(),
      let digest = reader.optional(), reader.rest.isEmpty
    else { return nil }
    let content = EnvelopeContent(
      method: method, target: target, headers: headers, body: .inline([]))
    draft = EnvelopeDraft(
      client: client, lane: lane, upstream: upstream, content: content,
      key: key.map { String(decoding: $0, as: UTF8.self) }, fingerprint: [],
      sequence: sequence.map(TermsReader.integer),
      tag: tag.map { String(decoding: $0, as: UTF8.self) }, hold: flags & 1 != 0,
      notBefore: notBefore.map { Self.time($0) }, expiresAt: Self.time(expiresAt),
      onFailure: onFailure, references: flags & 2 != 0,
      coalesce: coalesce.map { String(decoding: $0, as: UTF8.self) }, isVoid: flags & 4 != 0,
      isInOrder: flags & 8 != 0)
    self.said = said
    self.digest = digest
  }

  private static func time(_ bytes: [UInt8]) -> WallTime {
    WallTime(millisecondsSinceEpoch: TermsReader.integer(bytes))
  }
}

private struct TermsWriter {
  var bytes: [UInt8]

  static func bytes(of integer: Int64) -> [UInt8] { big(UInt64(bitPattern: integer), count: 8) }

  private static func big(_ value: UInt64, count: Int) -> [UInt8] {
    (1...count).map { UInt8(truncatingIfNeeded: value >> UInt64((count - $0) * 8)) }
  }

  mutating func field(_ value: [UInt8]) {
    bytes += Self.big(UInt64(value.count), count: 4)
    bytes += value
  }

  mutating func text(_ value: String) { field(Array(value.utf8)) }

  mutating func optional(_ value: [UInt8]?) {
    bytes.append(value == nil ? 0 : 1)
    if let value { field(value) }
  }
}

private struct TermsReader {
  var rest: ArraySlice<UInt8>

  static func integer(_ bytes: [UInt8]) -> Int64 {
    Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  mutating func field() -> [UInt8]? {
    guard rest.count >= 4 else { return nil }
    let count = Int(Self.integer(Array(rest.prefix(4))))
    rest = rest.dropFirst(4)
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func text() -> String? { field().map { String(decoding: $0, as: UTF8.self) } }

  /// The outer nil is for bytes that are no such field.
  mutating func optional() -> [UInt8]?? {
    switch rest.popFirst() {
    case 0: .some(nil)
    case 1: field().map { .some($0) }
    default: nil
    }
  }
}
