/// Bodies of `POST /v1/envelopes` that are no JSON, or more of it than anyone needs.
enum HostileJSON {
  static let rows = broken + texts + numbers + large

  /// An envelope whose members are fine but for what is put in behind them.
  private static func envelope(_ more: String, path: String = "/half") -> [UInt8] {
    Wire.bytes("{\"client\":\"hostile\",\"path\":\"\(path)\"\(more)}")
  }

  private static func malformed(_ name: String, _ body: [UInt8]) -> HostileRow {
    .answered(400, "malformed-json", name, Wire.post(body))
  }

  private static let broken: [HostileRow] = [
    ("nothing", ""), ("blanks alone", " \r\n\t"), ("a brace", "{"), ("a bracket", "["),
    ("a quote", "\""), ("a word", "nul"), ("two values", "{}{}"),
    ("a comma at the end", "{\"path\":\"/half\",}"),
    ("a comma first", "{,\"path\":\"/half\"}"), ("no colon", "{\"path\"\"/half\"}"),
    ("single quotes", "{'path':'/half'}"), ("a name without quotes", "{path:\"/half\"}"),
    ("a comment", "{\"path\":\"/half\"/*x*/}"), ("NaN", "{\"sequence\":NaN}"),
    ("a number for a name", "{1:2}"), ("a byte order mark", "\u{EF}\u{BB}\u{BF}{}"),
    ("UTF-16", "\u{FF}\u{FE}{\u{0}}\u{0}"), ("UTF-32", "{\u{0}\u{0}\u{0}}\u{0}\u{0}\u{0}"),
    ("a NUL behind", "{}\u{0}"), ("a NUL first", "\u{0}{}"), ("another closing bracket", "[{}}"),
    ("a form", "client=hostile&path=%2Fhalf"), ("XML", "<envelope/>"),
    ("a form feed as a blank", "{\u{C}}"),
    ("a non-breaking space as a blank", "{\u{C2}\u{A0}}"), ("control characters", "{\"a\u{1}\":1}"),
  ].map { malformed("JSON: \($0.0)", Wire.bytes($0.1)) }

  private static let texts: [HostileRow] =
    [
      ("a lone byte of UTF-8", "\u{FF}"), ("an overlong slash", "\u{C0}\u{AF}"),
      ("an overlong NUL", "\u{E0}\u{80}\u{80}"), ("a surrogate in UTF-8", "\u{ED}\u{A0}\u{80}"),
      ("a character past U+10FFFF", "\u{F4}\u{90}\u{80}\u{80}"),
      ("five bytes", "\u{F8}\u{88}\u{80}\u{80}\u{80}"),
      ("a character cut short", "\u{E2}\u{82}"), ("a continuation alone", "\u{80}"),
      ("a lone high surrogate", "\\ud800"), ("a lone low surrogate", "\\udc00"),
      ("surrogates the wrong way round", "\\udc00\\ud800"), ("an escape that is none", "\\x41"),
      ("an escape cut short", "\\u12"), ("an escape with a sign", "\\u+123"),
      ("a backslash last", "\\"),
      ("a line end", "\n"), ("a NUL", "\u{0}"),
    ].map { malformed("a text with \($0.0)", envelope(",\"body\":\"\($0.1)\"")) } + [
      malformed("a member twice", envelope(",\"client\":\"thief\"")),
      malformed("a member twice, once escaped", envelope(",\"cli\\u0065nt\":\"thief\"")),
      malformed(
        "a member twice deep in the body", envelope(",\"body\":[{\"a\":{\"b\":1,\"b\":2}}]")),
      malformed(
        "a member twice among a thousand",
        envelope(",\"body\":{\((0..<1000).map { "\"m\($0)\":1" }.joined(separator: ",")),\"m7\":2}")
      ),
    ]

  private static let numbers: [HostileRow] =
    ["01", "+1", "1.", ".5", "1e", "0x1", "--1", "1e+", "Infinity", "1_000", "\u{B2}"].map {
      malformed("the number \($0)", envelope(",\"sequence\":\($0)"))
    }
    + [
      "0", "-1", "1.5", "1e999", "-1e999", "9007199254740992", "9223372036854775808",
      "1e-400", "18446744073709551616", "123456789012345678901234567890", "\"1\"", "true", "null",
      "[1]",
    ].map {
      .answered(422, "invalid-field", "sequence \($0)", Wire.post(envelope(",\"sequence\":\($0)")))
    }

  private static let large: [HostileRow] = [
    malformed("513 brackets deep", envelope(",\"body\":" + nested(513))),
    malformed("a million brackets deep", Wire.bytes(String(repeating: "[", count: 1_000_000))),
    malformed(
      "a million braces deep", Wire.bytes(String(repeating: "{\"a\":", count: 200_000))),
    .taken("500 brackets deep", Wire.post(envelope(",\"body\":" + nested(500), path: "/taken"))),
    .taken(
      "an object of 100,000 members",
      Wire.post(
        envelope(
          ",\"body\":{\((0..<100_000).map { "\"\($0)\":0" }.joined(separator: ","))}",
          path: "/taken"))),
    .taken(
      "a number of 100,000 digits in a body",
      Wire.post(envelope(",\"body\":\(String(repeating: "9", count: 100_000))", path: "/taken"))),
    .answered(
      413, "body-too-large", "a body over the limit",
      Wire.post(envelope(",\"body\":\"\(String(repeating: "x", count: 1_100_000))\""))),
    .answered(
      413, "body-too-large", "an array of half a million zeros over the limit",
      Wire.post(envelope(",\"body\":[0\(String(repeating: ",0", count: 600_000))]"))),
    HostileRow(
      name: "more bytes than a post may have",
      steps: [.send(Wire.post([UInt8](repeating: 0x20, count: 5_000_000)))],
      answers: [.init(status: 413, problem: "batch-too-large")], ending: .closed),
    .answered(
      422, "unknown-field", "a member's name of 100,000 characters",
      Wire.post(envelope(",\"\(String(repeating: "x", count: 100_000))\":1"))),
  ]

  private static func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
  }
}
