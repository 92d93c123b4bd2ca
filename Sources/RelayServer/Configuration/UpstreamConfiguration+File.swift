import JSON
import RelayCore

extension SectionReader {
  /// Reads a section whose keys are upstreams' names.
  mutating func readUpstreams(environment: [String: String]) -> [UpstreamConfiguration] {
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
      guard var section = SectionReader(value, path: path(of: name), problems: problems) else {
        continue
      }
      if let upstream = UpstreamConfiguration(
        name: name, section: &section, environment: environment)
      {
        upstreams.append(upstream)
      }
      section.finish()
    }
    return upstreams
  }

  /// A string with variables put in; nil, with a problem noted, if it is none or one is missing.
  mutating func expanded(
    _ value: JSONValue, at path: String, environment: [String: String]
  ) -> String? {
    var values: [String] = []
    return expanded(value, at: path, environment: environment, values: &values)
  }

  /// The same; `values` takes those of the variables that were put in.
  mutating func expanded(
    _ value: JSONValue, at path: String, environment: [String: String], values: inout [String]
  ) -> String? {
    guard let text = try? value.string() else {
      // The value is not shown: it may be a credential in the wrong shape.
      problems.add(path, expected: "a string", found: value.kind.inWords)
      return nil
    }
    do throws(VariableExpansion.Failure) {
      return try VariableExpansion.expand(text, environment: environment, values: &values)
    } catch {
      problems.add(path, error.reason)
      return nil
    }
  }
}

extension UpstreamConfiguration {
  /// A day, in milliseconds.
  private static let delayMsMax = 86_400_000

  /// Reads an upstream; nil, with a problem noted, if it has no usable URL.
  init?(name: String, section: inout SectionReader, environment: [String: String]) {
    var values: [String] = []
    let url = Self.readURL(&section, environment: environment, values: &values)
    // What else is wrong is told even without a URL, so a stand-in takes its place meanwhile.
    guard let standIn = try? UpstreamURL("http://stand-in.invalid") else { return nil }
    self.init(name: name, url: url ?? standIn)
    // A host is no secret, and is named wherever something went wrong.
    values.removeAll { url?.basePath.contains($0) != true || url?.host.contains($0) == true }
    section.section("headers") {
      headers = $0.readHeaders(environment: environment, values: &values)
    }
    secretVariables = values.map(Secret.init)
    section.integer("connectTimeoutMs", into: &connectTimeoutMs, 1...Self.delayMsMax)
    section.optionalInteger("attemptTimeoutMs", into: &attemptTimeoutMs, 1...Self.delayMsMax)
    section.optionalInteger("idleTimeoutMs", into: &idleTimeoutMs, 1...Self.delayMsMax)
    section.integer("maxConcurrent", into: &maxConcurrent, 1...10_000)
    section.flag("reuseConnections", into: &reuseConnections)
    section.section("retry") { retry.read(&$0) }
    section.word("onFailure", into: &onFailure)
    section.integer("deadlineSeconds", into: &deadlineSeconds, 1...Configuration.secondsMax)
    section.section("outcomes") { section in
      section.statusCodes("retry", into: &outcomes.retry)
      section.statusCodes("deliver", into: &outcomes.deliver)
    }
    section.integer("responseBodyBytesMax", into: &responseBodyBytesMax, 0...(1 << 30))
    var retryAfterMaxSeconds = retry.retryAfterMaxMs / 1000
    section.integer(
      "retryAfterMaxSeconds", into: &retryAfterMaxSeconds, 0...Int64(Configuration.secondsMax))
    retry.retryAfterMaxMs = retryAfterMaxSeconds * 1000
    proxy = Self.readProxy(&section, environment: environment)
    section.word("ambiguous", into: &ambiguous)
    section.section("verify") { verify = $0.readVerification() }
    section.section("reachability") { reachability.read(&$0) }
    section.flag("startPaused", into: &startPaused)
    section.certificateAuthorities(into: &certificateAuthorities)
    section.passHeaders("passHeaders", into: &passHeaders)
    section.section("signing") { signing = $0.readSigning(environment: environment) }
    if url == nil { return nil }
  }

  /// Reads a URL; nil, with a problem noted, if there is none, or it is not usable.
  ///
  /// - Parameter values: Takes the values of the variables that were put in.
  static func readURL(
    _ section: inout SectionReader, key: String = "url", environment: [String: String],
    values: inout [String]
  ) -> UpstreamURL? {
    let path = section.path(of: key)
    guard let value = section.value(key) else {
      section.problems.add(path, expected: "the upstream's base URL", found: "nothing")
      return nil
    }
    guard
      let text = section.expanded(value, at: path, environment: environment, values: &values)
    else { return nil }
    do throws(UpstreamURL.Refusal) {
      return try UpstreamURL(text)
    } catch {
      // The text as it was written, so that no variable's value is shown.
      section.problems.add(
        path, expected: error.expected, found: error.mayShow ? value.shown : "another one")
      return nil
    }
  }

  private static func readProxy(
    _ section: inout SectionReader, environment: [String: String]
  ) -> ProxyURL? {
    let path = section.path(of: "proxy")
    guard let value = section.value("proxy"), !value.isNull,
      let text = section.expanded(value, at: path, environment: environment)
    else { return nil }
    let proxy = ProxyURL(text)
    if proxy == nil {
      section.problems.add(
        path, expected: "the URL of an HTTP proxy, as in http://proxy.example:3128,",
        found: "something else")
    }
    return proxy
  }
}

extension SectionReader {
  /// How an upstream is asked whether it has an envelope.
  fileprivate mutating func readVerification() -> VerificationPath? {
    guard value("path") != nil else {
      problems.add(path(of: "path"), expected: VerificationPath.rule, found: "nothing")
      return nil
    }
    var verification: VerificationPath?
    read("path", into: &verification, expected: VerificationPath.rule) { value in
      (try? value.string()).flatMap(VerificationPath.init).map(Optional.some)
    }
    return verification
  }
}

extension RetryPolicy {
  mutating func read(_ section: inout SectionReader) {
    section.integer("firstDelayMs", into: &firstDelayMs, 1...86_400_000)
    section.integer("maxDelayMs", into: &maxDelayMs, 1...604_800_000)
    section.number("factor", into: &factor, 1...100)
  }
}

extension ReachabilityPolicy {
  mutating func read(_ section: inout SectionReader) {
    section.integer("failuresBeforeUnreachable", into: &failuresBeforeUnreachable, 1...1000)
    section.integer("firstProbeDelayMs", into: &firstProbeDelayMs, 1...86_400_000)
    section.integer("maxProbeDelayMs", into: &maxProbeDelayMs, 1...86_400_000)
  }
}

extension SectionReader {
  /// A set of status codes: numbers, and classes such as `"5xx"`.
  mutating func statusCodes(_ key: String, into target: inout StatusCodeSet) {
    let expected =
      "an array of status codes from \(StatusSet.codes.lowerBound) to"
      + " \(StatusSet.codes.upperBound) and classes from \"2xx\" to \"5xx\""
    read(key, into: &target, expected: expected) { value in
      guard let elements = try? value.array() else { return nil }
      var (codes, classes): ([Int], [Int]) = ([], [])
      for element in elements {
        if let code = try? element.int64(), StatusSet.codes.contains(Int(code)) {
          codes.append(Int(code))
        } else if let text = try? element.string(), let number = StatusCodeSet.classNumber(text) {
          classes.append(number)
        } else {
          return nil
        }
      }
      return StatusCodeSet(codes: codes, classes: classes)
    }
  }

  /// The file of the authorities that a server's certificate has to come from, or `null`.
  mutating func certificateAuthorities(into target: inout String?) {
    read("certificateAuthorities", into: &target, expected: "the path of a PEM file") {
      value -> String?? in
      if value.isNull { return .some(nil) }
      return (try? value.string()).flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : .some($0) }
    }
  }

  /// Header fields that are set on every request.
  mutating func readHeaders(
    environment: [String: String], values: inout [String]
  ) -> [UpstreamConfiguration.Header] {
    var headers: [UpstreamConfiguration.Header] = []
    for (name, value) in all {
      _ = self.value(name)
      let path = path(of: name)
      if let reason = HeaderRules.refusal(ofName: name, after: headers.map(\.name)) {
        problems.add(path, reason)
        continue
      }
      guard
        let text = expanded(value, at: path, environment: environment, values: &values)
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
