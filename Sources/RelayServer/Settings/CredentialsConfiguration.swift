import Cryptography
import Forwarder
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
    /// A signature of each request (AWS Signature Version 4).
    case awsSigV4 = "aws-sigv4"
    /// An access token that is fetched (RFC 6749 section 4.4).
    case oauth2
  }

  package var kind = Kind.basic
  package var user: Secret?
  package var password: Secret?
  package var token: Secret?
  package var region: String?
  package var service: String?
  package var accessKey: Secret?
  package var secretKey: Secret?
  package var sessionToken: Secret?
  package var tokenURL: UpstreamURL?
  package var clientID: Secret?
  /// Set unless ``privateKey`` is.
  package var clientSecret: Secret?
  package var privateKey: String?
  package var keyID: String?
  package var scope: String?
  package var audience: String?
  package var certificateAuthorities: String?

  /// Nothing yet: a file says what kind they are.
  package init() {}

  /// The value of `Authorization` in every request; nil if it is another one for each.
  package var authorization: Secret? {
    switch kind {
    case .basic:
      let pair = Array("\(user?.value ?? ""):\(password?.value ?? "")".utf8)
      return Secret("Basic " + Base64.text(of: pair))
    case .bearer: return Secret("Bearer \(token?.value ?? "")")
    case .awsSigV4, .oauth2: return nil
    }
  }

  /// The relay as a client of the server that gives access tokens; nil for other kinds.
  ///
  /// - Parameter key: What the file of ``privateKey`` holds.
  func oauthClient(_ key: SigningKey?) -> OAuthClient? {
    guard kind == .oauth2, let tokenURL, let clientID,
      let proof = clientSecret.map({ .secret($0) })
        ?? key.map({ OAuthClient.Proof.key($0, id: keyID) })
    else { return nil }
    return OAuthClient(
      url: tokenURL, id: clientID.value, proof: proof, scope: scope, audience: audience)
  }

  /// The forwarder's signing; nil for other kinds.
  var awsSigning: AWSSigning? {
    guard kind == .awsSigV4, let region, let service, let accessKey, let secretKey else {
      return nil
    }
    return AWSSigning(
      region: region, service: service, accessKey: accessKey.value, secretKey: secretKey.value,
      sessionToken: sessionToken?.value)
  }

  /// The texts that nobody is to see.
  var hiddenTexts: [String] {
    var found = [password, token, secretKey, sessionToken, clientSecret].compactMap { $0?.value }
    if kind == .basic, let authorization {
      found += ["\(user?.value ?? ""):\(password?.value ?? "")"]
      found.append(String(authorization.value.dropFirst("Basic ".count)))
    }
    if let clientID, let clientSecret {
      let pair = OAuthClient.pair(id: clientID.value, secret: clientSecret.value)
      found += [pair, Base64.text(of: Array(pair.utf8))]
    }
    return found
  }

  /// The fields that the relay itself sets for this kind, in lower case.
  var ownFields: [String] { kind == .awsSigV4 ? AWSSigning.fieldNames : ["authorization"] }
}

extension CredentialsConfiguration.Kind {
  /// The keys that this kind needs.
  fileprivate var needed: [String] {
    switch self {
    case .basic: ["user", "password"]
    case .bearer: ["token"]
    case .awsSigV4: ["region", "service", "accessKey", "secretKey"]
    case .oauth2: ["tokenURL", "clientID"]
    }
  }

  /// The keys that it takes besides.
  fileprivate var optional: [String] {
    switch self {
    case .basic, .bearer: []
    case .awsSigV4: ["sessionToken"]
    case .oauth2:
      [
        "clientSecret", "privateKey", "keyID", "scope", "audience", "certificateAuthorities",
      ]
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
    Key(
      "region", \.region, .unlessAbsent(.text("a region, such as \"eu-central-1\",", isScopePart)),
      "of `aws-sigv4`: the region")
    Key(
      "service", \.service,
      .unlessAbsent(.text("a service's name, such as \"execute-api\",", isScopePart)),
      "of `aws-sigv4`: the service's name in signatures")
    Key.secret(
      "accessKey", \.accessKey, "visible ASCII characters without \"/\" and \",\"",
      "of `aws-sigv4`: the access key's id"
    ) { isVisible($0) && !$0.contains { "/,".contains($0) } }
    Key.secret(
      "secretKey", \.secretKey, "visible ASCII characters, such as `${file:PATH}`",
      "of `aws-sigv4`: the secret access key", fits: isVisible)
    Key.secret(
      "sessionToken", \.sessionToken, "visible ASCII characters, such as `${file:PATH}`",
      "of `aws-sigv4`: the session token of a temporary access key", fits: isVisible)
    Key(
      "tokenURL", \.tokenURL,
      .unlessAbsent(
        .described("a URL without a query, `http` or `https`,") { try? UpstreamURL($0) }),
      "of `oauth2`: the server's [token endpoint](#access-tokens)")
    Key.secret(
      "clientID", \.clientID, "a text such as `${NAME}`", "of `oauth2`: the relay's name there",
      fits: isLine)
    Key.secret(
      "clientSecret", \.clientSecret, "a text such as `${file:PATH}`",
      "of `oauth2`: the secret of that name; or else `privateKey`", fits: isLine)
    Key(
      "privateKey", \.privateKey, .unlessAbsent(.path("the path of a key's PEM file")),
      "of `oauth2`: the key that signs the relay's assertions, without a passphrase")
    Key(
      "keyID", \.keyID, .unlessAbsent(.text("a text", isLine)),
      "of `oauth2`: the name of that key at the server (`kid`)")
    Key(
      "scope", \.scope, .unlessAbsent(.text("a text", isLine)),
      "of `oauth2`: what the token is to allow")
    Key(
      "audience", \.audience, .unlessAbsent(.text("a text", isLine)),
      "of `oauth2`: whom the token is for, where the server asks for that")
    Key(
      "certificateAuthorities", \.certificateAuthorities,
      .unlessAbsent(.path("the path of a PEM file")), absent: "the system's",
      "of `oauth2`: a PEM file with the authorities that may have signed the server's certificate")
  }

  /// Whether a text has no control characters (RFC 7617 section 2).
  private static func isLine(_ text: String) -> Bool {
    !text.isEmpty && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

  private static func isScopePart(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { FieldSyntax.isTokenByte($0) && $0 != UInt8(ascii: "'") }
  }

  private static func isVisible(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  func check(_ reader: SectionReader) {
    guard reader.has("kind"), reader.isFine("kind") else { return }
    for name in kind.needed where !reader.has(name) {
      reader.problems.add(reader.path(of: name), "is missing: \"\(kind.rawValue)\" needs it")
    }
    if kind == .oauth2 { checkProof(reader) }
    for name in Self.keys.map(\.name) where reader.has(name) && !isOfKind(name) {
      reader.problems.add(reader.path(of: name), "does not go with \"\(kind.rawValue)\"")
    }
  }

  private func checkProof(_ reader: SectionReader) {
    if reader.has("clientSecret") == reader.has("privateKey") {
      reader.problems.add(
        reader.path, "\"oauth2\" needs one of \"clientSecret\" and \"privateKey\", and no two")
    }
    if reader.has("keyID"), !reader.has("privateKey") {
      reader.problems.add(reader.path(of: "keyID"), "goes with \"privateKey\"")
    }
  }

  private func isOfKind(_ name: String) -> Bool {
    name == "kind" || kind.needed.contains(name) || kind.optional.contains(name)
  }
}

extension ConfigurationKey {
  /// A text that is not shown, in which variables and files may stand.
  static func secret(
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
