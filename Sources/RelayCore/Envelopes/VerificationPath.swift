/// The path at which an upstream says whether it has an envelope, with placeholders for the
/// envelope's names.
///
/// `{id}` stands for the envelope's id, and `{key}` for the sender's own key, or for the id where
/// there is none. The values are percent-encoded, so that they stay within their segment or query
/// value (RFC 3986 section 2.1).
package struct VerificationPath: Sendable, Hashable, CustomStringConvertible {
  /// The path and query as they were configured.
  package let description: String
  private let parts: [Part]

  private enum Part: Sendable, Hashable {
    case text(String)
    case id
    case key

    /// Whether no brace is left in it.
    var isClosed: Bool {
      guard case .text(let text) = self else { return true }
      return !text.contains("{") && !text.contains("}")
    }
  }

  /// The length of the longest path, in bytes.
  package static let bytesMax = 4096
  /// The rule for a path, as a part of a sentence.
  package static let rule =
    "a path that begins with \"/\" and holds {id} or {key}, without blanks, other braces, and"
    + " \".\" or \"..\" segments"

  /// Parses a path; nil if it breaks ``rule`` or is too long.
  package init?(_ text: String) {
    guard text.utf8.first == UInt8(ascii: "/"), text.utf8.count <= Self.bytesMax,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
    else { return nil }
    var parts: [Part] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}"),
        let part = Self.placeholder(rest[rest.index(after: open)..<close])
      else { return nil }
      parts.append(.text(String(rest[..<open])))
      parts.append(part)
      rest = rest[rest.index(after: close)...]
    }
    guard parts.contains(where: { $0 == .id || $0 == .key }) else { return nil }
    parts.append(.text(String(rest)))
    guard parts.allSatisfy(\.isClosed) else { return nil }
    description = text
    self.parts = parts
    let sample = EnvelopeID(serial: 1, acceptedAt: WallTime(millisecondsSinceEpoch: 0), random: 0)
    guard TargetSyntax.refusal(of: target(id: sample, key: nil)[...]) == nil else { return nil }
  }

  private static func placeholder(_ name: Substring) -> Part? {
    switch name {
    case "id": .id
    case "key": .key
    default: nil
    }
  }

  /// The request that asks the upstream for an envelope.
  package func content(for envelope: DeliverableEnvelope) -> EnvelopeContent {
    EnvelopeContent(
      method: "GET", target: target(id: envelope.id, key: envelope.key), headers: HeaderBlock(),
      body: .inline([]))
  }

  /// Path and query for an envelope.
  package func target(id: EnvelopeID, key: String?) -> [UInt8] {
    var target: [UInt8] = []
    for part in parts {
      switch part {
      case .text(let text): target.append(contentsOf: text.utf8)
      case .id: target.append(contentsOf: id.description.utf8)
      case .key: target.append(contentsOf: PercentEncoding.encode((key ?? id.description).utf8))
      }
    }
    return target
  }
}
