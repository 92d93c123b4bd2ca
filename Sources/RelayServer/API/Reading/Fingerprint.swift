import Cryptography
import RelayCore

/// A digest of what a sender said of one envelope, by which a repeat is told from a key that is
/// used again for something else.
///
/// Some things are left out. The key is what the digest is found by. `inOrder` says how the number
/// counts in its lane, and a repeat has its place there already: a device that hands its lane on in
/// another way after an update repeats the same envelopes.
///
/// It is taken over what was said, not over what time or configuration makes of it: an envelope
/// posted again a minute later has another default deadline, and is the same envelope. So spans of
/// time are taken as they were said, and `age`, which grows, is left out. Fields are
/// taken in the order of their names in lower case, since senders that keep them in a table write
/// them in any order, which means nothing (RFC 9110 section 5.3); fields of one name keep theirs.
/// Those of W3C Trace Context are left out: they say where in its sender's work a post stands, and
/// libraries give each repeat another one. So is `Via`: a repeat may come another way.
///
/// The body comes last and may come in pieces, so that a large one need not be in memory. Texts
/// before it carry their lengths, so that no two envelopes make the same bytes.
package struct Fingerprint: ~Copyable {
  private var hash = SHA256()

  /// Begins with all but the body.
  ///
  /// - Parameters:
  ///   - draft: The envelope; its body, times and policy are not looked at.
  ///   - terms: What its sender said of it.
  init(of draft: borrowing EnvelopeDraft, saying terms: EnvelopeTerms) {
    self.init(said: Self.said(of: draft, saying: terms))
  }

  /// Begins with all but the body, as ``said(of:saying:)`` has it.
  package init(said: [UInt8]) { hash.update(said) }

  /// The bytes of all but the body; the parameters are those of the first initialiser.
  static func said(of draft: borrowing EnvelopeDraft, saying terms: EnvelopeTerms) -> [UInt8] {
    let hasSpans = terms.relative.isSaid
    let hasMore = draft.references || draft.coalesce != nil || hasSpans
    var encoding = Encoding(version: hasSpans ? 3 : hasMore ? 2 : 1)
    encoding.text(draft.client.utf8)
    encoding.text(draft.upstream.utf8)
    encoding.text(draft.lane.utf8)
    encoding.text(draft.content.method.utf8)
    encoding.text(draft.content.target)
    encoding.headers(draft.content.headers)
    encoding.optional(draft.sequence)
    encoding.optional(draft.tag)
    encoding.bytes.append(draft.hold ? 1 : 0)
    encoding.optional(terms.notBefore?.millisecondsSinceEpoch)
    encoding.optional(terms.expiresAt?.millisecondsSinceEpoch)
    encoding.optional(terms.onFailure?.rawValue)
    if hasMore {
      encoding.bytes.append(draft.references ? 1 : 0)
      encoding.optional(draft.coalesce)
    }
    if hasSpans {
      encoding.optional(terms.relative.notBeforeIn)
      encoding.optional(terms.relative.expiresIn)
    }
    return encoding.bytes
  }

  /// Adds the next piece of the body.
  package mutating func update(_ piece: [UInt8]) { hash.update(piece) }

  /// The digest: 32 bytes.
  package consuming func finish() -> [UInt8] { hash.finish() }
}

/// Bytes that no other content would make.
private struct Encoding {
  private static let leftOut: [StaticString] = ["traceparent", "tracestate", "Via"]
  /// What most of them take, in bytes.
  private static let usualByteCount = 256

  var bytes: [UInt8] = []

  /// Begins with the version of the encoding, so that one cannot be taken for another.
  init(version: UInt8) {
    bytes.reserveCapacity(Self.usualByteCount)
    bytes.append(version)
  }

  mutating func text(_ text: some Collection<UInt8>) {
    integer(UInt64(text.count))
    bytes.append(contentsOf: text)
  }

  mutating func optional(_ value: String?) {
    bytes.append(value == nil ? 0 : 1)
    if let value { text(value.utf8) }
  }

  mutating func optional(_ value: Int64?) {
    bytes.append(value == nil ? 0 : 1)
    if let value { integer(UInt64(bitPattern: value)) }
  }

  mutating func headers(_ headers: RelayCore.HeaderBlock) {
    var fields: [(name: [UInt8], value: ArraySlice<UInt8>, index: Int)] = []
    for field in headers where !Self.leftOut.contains(where: field.isNamed) {
      fields.append((field.name.map(FieldSyntax.lowercased), field.value, fields.count))
    }
    if fields.count > 1 {
      fields.sort { left, right in
        left.name == right.name
          ? left.index < right.index : left.name.lexicographicallyPrecedes(right.name)
      }
    }
    integer(UInt64(fields.count))
    for field in fields {
      text(field.name)
      text(field.value)
    }
  }

  private mutating func integer(_ value: UInt64) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
