import EventLoop
import JSON
import RelayCore

extension AccessConfiguration {
  /// The rule on digests, as a part of a sentence.
  static let digestRule = "the 64 hexadecimal digits that `waystation token hash` prints"

  /// The bytes of a digest; nil if the text is none.
  static func digest(_ text: String) -> [UInt8]? {
    Hexadecimal.decode(text.utf8).flatMap { $0.count == 32 ? $0 : nil }
  }

  /// Takes an operator as a variable has it: `NAME=ROLE:DIGEST`.
  ///
  /// One of the same name in the file gives way.
  mutating func add(operator text: String, key: String, _ problems: ProblemCollector) {
    let parts = text.split(separator: "=", maxSplits: 1)
    let words = parts.count == 2 ? parts[1].split(separator: ":", maxSplits: 1) : []
    guard words.count == 2, KeyNameSyntax.isName(String(parts[0])),
      let role = OperatorRole(rawValue: String(words[0])),
      let digest = Self.digest(String(words[1]))
    else {
      // What stands there is not shown: it may be a token in the place of its digest.
      problems.add(
        key, expected: "NAME=ROLE:DIGEST, as in ops=steer:, and \(Self.digestRule),",
        found: "something else")
      return
    }
    let name = String(parts[0])
    operators.removeAll { $0.name == name }
    operators.append(OperatorConfiguration(name: name, role: role, tokenDigest: digest))
  }
}

extension SectionReader {
  private static let nameRule =
    "a name of letters, digits, \"_\" and \"-\", at most \(KeyNameSyntax.bytesMax)"

  mutating func readOperators() -> [OperatorConfiguration] {
    var operators: [OperatorConfiguration] = []
    for (name, value) in all {
      guard var section = named(name, value) else { continue }
      var role: OperatorRole?
      section.read("role", into: &role, expected: OperatorRole.choices) { value in
        (try? value.string()).flatMap(OperatorRole.init).map(Optional.some)
      }
      let digest = section.readDigest()
      if section.value("role") == nil {
        problems.add(section.path(of: "role"), expected: OperatorRole.choices, found: "nothing")
      }
      section.finish()
      if let role, let digest {
        operators.append(OperatorConfiguration(name: name, role: role, tokenDigest: digest))
      }
    }
    return operators
  }

  /// A digest; what stands there in its place is not shown, since it may be the token.
  private mutating func readDigest() -> [UInt8]? {
    let value = value("tokenSHA256")
    if let text = try? value?.string(), let digest = AccessConfiguration.digest(text) {
      return digest
    }
    problems.add(
      path(of: "tokenSHA256"), expected: AccessConfiguration.digestRule,
      found: value == nil ? "nothing" : "something else")
    return nil
  }

  mutating func readClientKeys() -> [ClientKeyConfiguration] {
    var keys: [ClientKeyConfiguration] = []
    for (name, value) in all {
      guard var section = named(name, value) else { continue }
      var key = ClientKeyConfiguration(name: name, secrets: section.readSecrets())
      section.read(
        "clients", into: &key.clients,
        expected: "a client's name, a beginning of names with \"*\" behind it, or an array of such"
      ) { value in
        let values = (try? value.array()).map(Array.init) ?? [value]
        let patterns = values.compactMap { (try? $0.string()).flatMap(Self.pattern) }
        let isGood = patterns.count == values.count && Set(patterns).count == patterns.count
        return isGood && !patterns.isEmpty ? patterns : nil
      }
      section.finish()
      keys.append(key)
    }
    return keys
  }

  private static func pattern(_ text: String) -> String? {
    NameSyntax.isName(Array(text.utf8)[...]) && NamePatterns<Bool>.isPattern(text) ? text : nil
  }

  private mutating func readSecrets() -> [Secret] {
    let rule =
      "one or two secrets of \(ClientKeyConfiguration.secretBytes.lowerBound) to"
      + " \(ClientKeyConfiguration.secretBytes.upperBound) bytes in hexadecimal digits"
    let path = path(of: "secrets")
    guard let value = value("secrets") else {
      problems.add(path, expected: rule, found: "nothing")
      return []
    }
    let values = (try? value.array()).map(Array.init) ?? [value]
    var secrets: [Secret] = []
    var isMissingOne = false
    for value in values {
      guard let text = expanded(value, at: path) else {
        // The other one may be missing, too.
        isMissingOne = true
        continue
      }
      guard ClientKeyConfiguration.secret(text) != nil else {
        problems.add(path, expected: rule, found: "something else")
        return []
      }
      secrets.append(Secret(text))
    }
    guard !isMissingOne else { return [] }
    guard (1...ClientKeyConfiguration.secretsMax).contains(secrets.count) else {
      problems.add(path, expected: rule, found: "\(secrets.count) secrets")
      return []
    }
    return secrets
  }

  /// The section of a name that the user chose; nil, with a problem noted, if it is none.
  private mutating func named(_ name: String, _ value: JSONValue) -> SectionReader? {
    _ = self.value(name)
    guard KeyNameSyntax.isName(name) else {
      problems.add(path(of: name), "expected \(Self.nameRule)")
      return nil
    }
    return inner(value, path: path(of: name))
  }
}

extension Configuration {
  /// Checks that a relay which anybody may use cannot be reached from elsewhere, unless that is
  /// meant.
  func checkAccess(_ problems: ProblemCollector) {
    if access.anonymous == .refuse, !tellsCallersApart {
      problems.add(
        "access.anonymous", "is \"refuse\", and no credential is configured: nobody could get in")
    }
    guard access.anonymous != .allow, !tellsCallersApart else { return }
    for listener in listen where listener.isOpenToOthers {
      problems.add(
        "listen",
        "\(listener) can be reached from other machines, and no credential is configured, so"
          + " anybody could use the relay. Configure access.operators, access.clientKeys or"
          + " clients' certificates, listen on 127.0.0.1, or say that this is meant:"
          + " --allow-anonymous, WAYSTATION_ANONYMOUS=allow, or"
          + " \"access\": {\"anonymous\": \"allow\"}")
    }
  }

  /// Whether there is any credential by which a caller can be known.
  package var tellsCallersApart: Bool { access.hasCredentials || certificatesName }

  /// Whether a listener knows clients by their certificates.
  var certificatesName: Bool { listen.contains { $0.nameField != nil } }
}
