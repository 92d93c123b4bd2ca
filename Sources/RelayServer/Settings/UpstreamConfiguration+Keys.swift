import JSON
import RelayCore

extension RetryPolicy: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "firstDelayMs", \.firstDelayMs, .integer(1...86_400_000),
      "the longest wait before the second attempt")
    Key("maxDelayMs", \.maxDelayMs, .integer(1...604_800_000), "the longest wait of all")
    Key(
      "factor", \.factor, .number(1...100),
      """
      how many times longer each wait may be than the one before. Each wait is a random share of \
      that
      """)
  }
}

extension ReachabilityPolicy: KeyedSection {
  @KeyList static var keys: [Key] {
    Key(
      "failuresBeforeUnreachable", \.failuresBeforeUnreachable, .integer(1...1000),
      "how many attempts in a row have to fail without an answer")
    Key(
      "firstProbeDelayMs", \.firstProbeDelayMs, .integer(1...86_400_000),
      "the wait before the first probe")
    Key(
      "maxProbeDelayMs", \.maxProbeDelayMs, .integer(1...86_400_000),
      "the longest wait between probes")
  }
}

extension KeyForm<StatusCodeSet> {
  /// Status codes: numbers, and classes such as `"5xx"`.
  static var statusCodes: KeyForm {
    KeyForm(
      expected:
        "an array of status codes from \(StatusSet.codes.lowerBound) to"
        + " \(StatusSet.codes.upperBound) and classes from \"2xx\" to \"5xx\"",
      read: { value in
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
      },
      write: { set, json in
        json.array { json in
          for code in set.codes { json.integer(code) }
          for number in set.classes { json.string("\(number)xx") }
        }
      })
  }
}

/// The section on asking an upstream whether it has an envelope.
struct VerificationSection: KeyedSection {
  var path: VerificationPath?

  @KeyList static var keys: [Key] {
    Key(
      "path", \.path, .unlessAbsent(.described(VerificationPath.rule, VerificationPath.init)),
      "with `\"verify\"`: the path of a `GET` that says whether an envelope has arrived",
      isRequired: true)
  }
}

extension UpstreamConfiguration {
  var verification: VerificationSection {
    get { VerificationSection(path: verify) }
    set { verify = newValue.path }
  }
}

extension ConfigurationKey {
  /// Header fields that are set on every request.
  ///
  /// - Parameter secrets: Where the values of variables go that were put in.
  static func headers(
    _ path: WritableKeyPath<Section, [UpstreamConfiguration.Header]>,
    secrets: WritableKeyPath<Section, [Secret]>, _ meaning: String
  ) -> Self {
    Self(
      "headers", path, "names to texts", meaning,
      read: { section, reader in
        reader.section("headers") { inner in
          section[keyPath: path] = inner.readHeaders(secrets: &section[keyPath: secrets])
        }
      },
      write: { section, json in
        json.memberObject("headers") { json in
          for header in section[keyPath: path] {
            json.member(header.name, header.value.description)
          }
        }
      })
  }

  /// The file of the authorities that a server's certificate has to come from, or `null`.
  static func certificateAuthorities(
    _ path: WritableKeyPath<Section, String?>, _ meaning: String
  ) -> Self {
    let expected = "the path of a PEM file"
    return Self(
      "certificateAuthorities", path, .optional(.path(expected), expected: expected),
      absent: "the system's", meaning)
  }
}
