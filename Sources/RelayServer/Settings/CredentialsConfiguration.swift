import JSON
import RelayCore

/// The proof by which an upstream knows the relay: one kind, and what that kind needs.
package struct CredentialsConfiguration: Equatable, Sendable {
  /// The kind; the words are those of the file.
  package enum Kind: String, CaseIterable, Sendable {
    /// A user and a password (RFC 7617).
    case basic
    /// A token (RFC 6750).
    case bearer
  }

  package var kind = Kind.basic
  package var user: Secret?
  package var password: Secret?
  package var token: Secret?

  /// Nothing yet: a file says what kind they are.
  package init() {}

  /// The value of `Authorization` in every request; nil if it is another one for each.
  package var authorization: Secret? {
    switch kind {
    case .basic:
      let pair = Array("\(user?.value ?? ""):\(password?.value ?? "")".utf8)
      return Secret("Basic " + String(decoding: Base64.encode(pair), as: UTF8.self))
    case .bearer: return Secret("Bearer \(token?.value ?? "")")
    }
  }

  /// The texts that nobody is to see.
  var hiddenTexts: [String] {
    var found = [password, token].compactMap { $0?.value }
    if kind == .basic, let authorization {
      found += ["\(user?.value ?? ""):\(password?.value ?? "")"]
      found.append(String(authorization.value.dropFirst("Basic ".count)))
    }
    return found
  }

  /// The fields that the relay itself sets for this kind, in lower case.
  var ownFields: [String] { ["authorization"] }
}

extension CredentialsConfiguration.Kind {
  /// The keys that this kind needs.
  fileprivate var needed: [String] {
    switch self {
    case .basic: ["user", "password"]
    case .bearer: ["token"]
    }
  }
}

extension CredentialsConfiguration: KeyedSection {
  @KeyList static var keys: [Key] {
    Key("kind", \.kind, .word, "[how the relay shows who it is](#credentials)", isRequired: true)
    Key.secret(
      "user", \.user, "a name without a colon, such as `${NAME}`", "of `basic`: the user"
    ) { isLine($0) && !$0.contains(":") }
    Key.secret(
      "password", \.password, "a text such as `${file:PATH}`", "of `basic`: the password",
      fits: isLine)
    Key.secret(
      "token", \.token, "visible ASCII characters, such as `${file:PATH}`",
      "of `bearer`: the token", fits: isVisible)
  }

  /// Whether a text has no control characters (RFC 7617 section 2).
  private static func isLine(_ text: String) -> Bool {
    !text.isEmpty && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  private static func isVisible(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  func check(_ reader: SectionReader) {
    guard reader.has("kind"), reader.isFine("kind") else { return }
    for name in kind.needed where !reader.has(name) {
      reader.problems.add(reader.path(of: name), "is missing: \"\(kind.rawValue)\" needs it")
    }
    for name in Self.keys.map(\.name) where reader.has(name) && !isOfKind(name) {
      reader.problems.add(reader.path(of: name), "does not go with \"\(kind.rawValue)\"")
    }
  }

  private func isOfKind(_ name: String) -> Bool { name == "kind" || kind.needed.contains(name) }
}

extension ConfigurationKey {
  /// A text that is not shown, in which variables and files may stand.
  fileprivate static func secret(
    _ name: String, _ path: WritableKeyPath<Section, Secret?>, _ values: String, _ meaning: String,
    fits: @escaping (String) -> Bool
  ) -> Self {
    Self(
      name, path, values, meaning,
      read: { section, reader in
        guard let value = reader.value(name),
          let text = reader.expanded(value, at: reader.path(of: name))
        else { return }
        guard fits(text) else {
          // Not shown: it may be a credential with a slip of the pen in it.
          return reader.problems.add(
            reader.path(of: name), expected: values, found: "something else")
        }
        section[keyPath: path] = Secret(text)
      },
      write: { section, json in
        if let secret = section[keyPath: path] { json.member(name, secret.description) }
      })
  }
}
