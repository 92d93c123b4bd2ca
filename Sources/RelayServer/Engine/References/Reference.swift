import JSON
import RelayCore

/// A part of an earlier envelope's answer, as an envelope names it: `{{response:KEY#/pointer}}`.
package struct Reference: Hashable, Sendable {
  /// The earlier envelope's key.
  package let key: String
  /// The place of the value in the answer's JSON (RFC 6901), as it was written.
  package let pointer: String
  /// The pointer's tokens.
  let tokens: [String]

  /// The most references of one envelope.
  package static let countMax = 32
  /// The most bytes that stand in a reference's place.
  package static let valueBytesMax = 8192

  static let opening = Array("{{".utf8)
  static let closing = Array("}}".utf8)
  private static let scheme = "response:"

  /// Reads what stands between the braces.
  ///
  /// - Throws: What is wrong with it.
  init(parsing text: [UInt8]) throws(ReferenceFault) {
    let words = String(decoding: text, as: UTF8.self)
    guard words.hasPrefix(Self.scheme), let hash = words.firstIndex(of: "#") else {
      throw ReferenceFault("\(Self.shown(words)) is no reference")
    }
    let key = String(words[..<hash].dropFirst(Self.scheme.count))
    guard NameSyntax.isName(Array(key.utf8)[...]) else {
      throw ReferenceFault("\(Self.shown(words)) names no key, which is \(NameSyntax.rule)")
    }
    let pointer = String(words[words.index(after: hash)...])
    guard let tokens = JSONPointer.tokens(of: pointer) else {
      throw ReferenceFault("behind its # \(Self.shown(words)) has no JSON pointer (RFC 6901)")
    }
    self.key = key
    self.pointer = pointer
    self.tokens = tokens
  }

  /// The reference as it is written.
  package var text: String { "{{\(Self.scheme)\(key)#\(pointer)}}" }

  /// A reference that cannot be read, as it can stand in a sentence.
  private static func shown(_ words: String) -> String { "{{\(words)}}".quoted }
}

/// A mistake in a reference, and the part of the envelope that has it.
package struct ReferenceFault: Error, Equatable {
  /// A part of an envelope.
  package enum Place: Equatable, Sendable {
    case path
    case header(String)
    case body
  }

  /// In which part it stands.
  package var place: Place
  /// The mistake, as a sentence that begins in lower case and has no full stop.
  package let detail: String

  init(_ detail: String, in place: Place = .body) {
    self.detail = detail
    self.place = place
  }
}
