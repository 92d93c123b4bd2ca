import RelayCore

/// Which of a request's fields are not shown, since they are, or may hold, somebody's secret.
enum SecretFields {
  /// The text shown in place of a secret.
  static let mask = "***"

  /// Any of these within a name makes its value a secret: rather one too many.
  private static let words = [
    "auth", "cookie", "token", "secret", "password", "passwd", "credential", "session", "signature",
    "key", "jwt", "otp",
  ]
  /// Names that hold such a word, and no secret.
  private static let known = ["idempotency-key"]

  /// Whether the value of a field is a secret, by its name, or since it holds a token of the
  /// relay's.
  static func isSecret(_ field: RelayCore.HeaderBlock.Field) -> Bool {
    let name = String(decoding: field.name, as: UTF8.self).lowercased()
    guard !known.contains(name) else { return false }
    return words.contains { holds($0, in: name) } || AccessToken.isHeld(in: field.value)
  }

  private static func holds(_ word: String, in name: String) -> Bool {
    let (word, name) = (Array(word.utf8), Array(name.utf8))
    guard name.count >= word.count else { return false }
    return (0...name.count - word.count).contains {
      name[$0..<$0 + word.count].elementsEqual(word)
    }
  }
}
