import Cryptography
import RelayCore

/// A bearer token, taken apart; whether it is good is another question.
///
/// All forms are of letters, digits, `_`, `.` and `-`, so that they are bearer tokens as RFC 6750
/// section 2.1 has them:
/// - `wst_<id>_<secret>`: made by the relay, and stored as a digest;
/// - `wsk_<key>.<client>.<code>`: made of a client key, without asking the relay;
/// - `wso_<secret>`: an operator's, of which the configuration holds a digest.
package enum AccessToken: Equatable, Sendable {
  /// Made by the relay.
  case stored(id: String, secret: [UInt8])
  /// Made of a client key.
  case derived(DerivedToken, code: [UInt8])
  /// An operator's from the configuration.
  case configured(digest: [UInt8])

  /// The length of a secret in random bytes.
  package static let secretBytes = 32
  private static let idBytes = 8

  private static let storedPrefix = Array("wst_".utf8)
  private static let derivedPrefix = Array("wsk_".utf8)
  private static let configuredPrefix = Array("wso_".utf8)

  /// Whether a text begins as the relay's own tokens do, be it that it is none: one that was cut
  /// off, likely.
  package static func isMarked(_ text: ArraySlice<UInt8>) -> Bool {
    text.starts(with: storedPrefix) || text.starts(with: derivedPrefix)
      || text.starts(with: configuredPrefix)
  }

  /// Reads a token; nil for anything that can be none.
  package init?(parsing text: ArraySlice<UInt8>) {
    if text.starts(with: Self.storedPrefix) {
      self.init(stored: text.dropFirst(Self.storedPrefix.count))
    } else if text.starts(with: Self.derivedPrefix) {
      self.init(derived: text.dropFirst(Self.derivedPrefix.count))
    } else if text.starts(with: Self.configuredPrefix) {
      guard Self.secret(text.dropFirst(Self.configuredPrefix.count)) != nil else { return nil }
      self = .configured(digest: SHA256.digest(of: text))
    } else {
      return nil
    }
  }

  private init?(stored text: ArraySlice<UInt8>) {
    let parts = text.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 2 * Self.idBytes,
      parts[0].allSatisfy(Self.isDigit), let secret = Self.secret(parts[1])
    else { return nil }
    self = .stored(id: String(decoding: parts[0], as: UTF8.self), secret: secret)
  }

  private init?(derived text: ArraySlice<UInt8>) {
    guard let dot = text.lastIndex(of: UInt8(ascii: ".")),
      let name = DerivedToken(id: String(decoding: text[..<dot], as: UTF8.self)),
      let code = Self.secret(text[(dot + 1)...])
    else { return nil }
    self = .derived(name, code: code)
  }

  /// 32 bytes in digits and lower-case letters: every token has one spelling only.
  private static func secret(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.count == 2 * secretBytes, text.allSatisfy(isDigit) else { return nil }
    return Hexadecimal.decode(text)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  /// A new token to be stored: its text, shown once, and what is kept of it.
  package static func makeStored() -> (id: String, text: String, digest: [UInt8]) {
    let id = Hexadecimal.encode(SecureRandom.bytes(idBytes))
    let secret = SecureRandom.bytes(secretBytes)
    return (id, storedText(id: id, secret: secret), SHA256.digest(of: secret))
  }

  /// The whole of a stored token.
  package static func storedText(id: String, secret: [UInt8]) -> String {
    "wst_\(id)_\(Hexadecimal.encode(secret))"
  }

  /// A new token for an operator whom the configuration names.
  package static func makeConfigured() -> String {
    "wso_" + Hexadecimal.encode(SecureRandom.bytes(secretBytes))
  }

  /// The digest that the configuration must have for such a token, in hexadecimal digits; nil for a
  /// text that is no token.
  package static func configuredDigest(of text: String) -> String? {
    guard case .configured(let digest)? = AccessToken(parsing: Array(text.utf8)[...]) else {
      return nil
    }
    return Hexadecimal.encode(digest)
  }

  /// Whether a text can be the id of a stored token.
  static func isStoredID(_ id: String) -> Bool {
    id.utf8.count == 2 * idBytes && id.utf8.allSatisfy(isDigit)
  }
}

/// Which token it is that a client key makes: everything of it but the code.
package struct DerivedToken: Hashable, Sendable {
  /// The key's name.
  package let key: String
  /// The client's name.
  package let client: String

  /// Names a token; nil if a name is none.
  package init?(key: String, client: String) {
    guard KeyNameSyntax.isName(key), NameSyntax.isName(Array(client.utf8)[...]) else { return nil }
    self.key = key
    self.client = client
  }

  /// Reads an ``id``.
  package init?(id: String) {
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let bytes = Hexadecimal.decode(parts[1].utf8),
      NameSyntax.isName(bytes[...])
    else { return nil }
    self.init(key: String(parts[0]), client: String(decoding: bytes, as: UTF8.self))
    guard self.id == id else { return nil }  // Capital letters would make another one of it.
  }

  /// The name of the token: the part of it that is no secret.
  package var id: String { "\(key).\(Hexadecimal.encode(client.utf8))" }

  /// The code that a key makes.
  ///
  /// The text that it is made of says what it is for, so that a code made under the same key for
  /// another purpose is none of a token; names have no line breaks.
  package func code(_ secret: [UInt8]) -> [UInt8] {
    HMACSHA256.code(
      of: Array("waystation client token 1\n\(key)\n\(client)".utf8), key: secret)
  }

  /// The whole token.
  package func text(_ secret: [UInt8]) -> String {
    "wsk_\(id).\(Hexadecimal.encode(code(secret)))"
  }
}
