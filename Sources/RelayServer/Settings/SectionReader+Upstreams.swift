import JSON
import RelayCore

extension SectionReader {
  /// Reads a section whose keys are upstreams' names.
  mutating func readUpstreams() -> [UpstreamConfiguration] {
    var upstreams: [UpstreamConfiguration] = []
    for (name, value) in all {
      _ = self.value(name)
      guard UpstreamConfiguration.isName(name) else {
        problems.add(
          path(of: name),
          "an upstream's name has 1 to \(UpstreamConfiguration.nameBytesMax) letters, digits,"
            + " \".\", \"_\" or \"-\"")
        continue
      }
      guard var section = inner(value, path: path(of: name)) else {
        continue
      }
      // What else is wrong is told even without a URL, so a stand-in takes its place meanwhile.
      guard let standIn = try? UpstreamURL("http://stand-in.invalid") else { continue }
      var upstream = UpstreamConfiguration(name: name, url: standIn)
      section.read(into: &upstream)
      section.finish()
      if section.isFine("url") { upstreams.append(upstream) }
    }
    return upstreams
  }

  /// A string with variables and files put in; nil, with a problem noted for each that is missing,
  /// or if it is no string.
  func expanded(_ value: JSONValue, at path: String) -> String? {
    var values: [String] = []
    return expanded(value, at: path, values: &values)
  }

  /// The same; `values` takes what was put in.
  private func expanded(
    _ value: JSONValue, at path: String, values: inout [String]
  ) -> String? {
    guard let text = try? value.string() else {
      // The value is not shown: it may be a credential in the wrong shape.
      problems.add(path, expected: "a string", found: value.kind.inWords)
      return nil
    }
    do throws(VariableExpansion.Failure) {
      return try VariableExpansion.expand(text, from: secrets, values: &values)
    } catch {
      for reason in error.reasons { problems.add(path, reason) }
      return nil
    }
  }

  /// Reads a URL; nil, with a problem noted, if there is none, or it is not usable.
  ///
  /// - Parameter secrets: Takes what variables and files brought into its path.
  mutating func readURL(_ key: String, secrets: inout [Secret]) -> UpstreamURL? {
    let path = path(of: key)
    guard let value = value(key) else {
      problems.add(path, expected: "the upstream's base URL", found: "nothing")
      return nil
    }
    var values: [String] = []
    guard let text = expanded(value, at: path, values: &values) else { return nil }
    do throws(UpstreamURL.Refusal) {
      let url = try UpstreamURL(text)
      // A host is no secret, and is named wherever something went wrong.
      values.removeAll { !url.basePath.contains($0) || url.host.contains($0) }
      secrets += values.map(Secret.init)
      return url
    } catch {
      // The text as it was written, so that no secret is shown.
      problems.add(
        path, expected: error.expected, found: error.mayShow ? value.shown : "another one")
      return nil
    }
  }

  mutating func readProxy() -> ProxyURL? {
    let path = path(of: "proxy")
    guard let value = value("proxy"), !value.isNull, let text = expanded(value, at: path) else {
      return nil
    }
    let proxy = ProxyURL(text)
    if proxy == nil {
      problems.add(
        path, expected: "the URL of an HTTP proxy, as in http://proxy.example:3128,",
        found: "something else")
    }
    return proxy
  }

  /// Header fields that are set on every request.
  ///
  /// - Parameter secrets: Takes the values of the variables and files that were put in.
  mutating func readHeaders(
    secrets: inout [Secret]
  ) -> [UpstreamConfiguration.Header] {
    var values: [String] = []
    defer { secrets += values.map(Secret.init) }
    var headers: [UpstreamConfiguration.Header] = []
    for (name, value) in all {
      _ = self.value(name)
      let path = path(of: name)
      if let reason = HeaderRules.refusal(ofName: name, after: headers.map(\.name)) {
        problems.add(path, reason)
        continue
      }
      guard
        let text = expanded(value, at: path, values: &values)
      else { continue }
      guard HeaderRules.isValue(text) else {
        problems.add(
          path,
          "the value has a line break or another control character, or a blank"
            + " at an end")
        continue
      }
      headers.append(UpstreamConfiguration.Header(name: name, value: Secret(text)))
    }
    return headers
  }
}

/// Which fields may be set on every request to an upstream.
private enum HeaderRules {
  /// Fields that belong to one connection or to the framing of one message (RFC 9110 section
  /// 7.6.1): setting them would break requests.
  private static let reserved = [
    "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "expect", "idempotency-key", "via",
  ]

  /// Why the name cannot be used; nil if it can.
  static func refusal(ofName name: String, after others: [String]) -> String? {
    guard !name.isEmpty, name.utf8.allSatisfy(FieldSyntax.isTokenByte) else {
      return "not a field name (RFC 9110 section 5.1)"
    }
    let lowercased = name.lowercased()
    guard !reserved.contains(lowercased), !lowercased.hasPrefix("waystation-") else {
      return "the relay sets this field itself"
    }
    return others.contains { $0.lowercased() == lowercased }
      ? "the field is set twice (letters' case does not count in field names)" : nil
  }

  static func isValue(_ text: String) -> Bool {
    let blanks: [UInt8?] = [0x20, 0x09]
    return text.utf8.allSatisfy(FieldSyntax.isValueByte) && !blanks.contains(text.utf8.first)
      && !blanks.contains(text.utf8.last)
  }
}
