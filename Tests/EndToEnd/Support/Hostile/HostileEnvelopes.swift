/// Envelopes in sound JSON with values that cannot be used, one field after the other.
enum HostileEnvelopes {
  static let rows =
    names + paths + headers + times + others + base64

  private static func invalid(
    _ name: String, _ members: String, problem: String = "invalid-field"
  ) -> HostileRow {
    .answered(422, problem, name, Wire.post(Wire.bytes("{\(members)}")))
  }

  /// Members beside a client and a path.
  private static func with(_ members: String, path: String = "/half") -> String {
    "\"client\":\"hostile\",\"path\":\"\(path)\",\(members)"
  }

  private static let badNames = [
    "\"\"", "\" \"", "\"a b\"", "\"a\\nb\"", "\"a\\u0000\"", "\"caf\u{C3}\u{A9}\"", "\"\\u202e\"",
    "7",
    "[]", "\"\(String(repeating: "n", count: 129))\"",
  ]

  private static let names: [HostileRow] =
    badNames.map { invalid("client \($0.prefix(12))", "\"path\":\"/half\",\"client\":\($0)") }
    + ["key", "lane", "tag", "coalesce"].flatMap { field in
      badNames.map { invalid("\(field) \($0.prefix(12))", with("\"\(field)\":\($0)")) }
    } + [
      invalid("no client", "\"path\":\"/half\"", problem: "missing-field"),
      invalid("no path", "\"client\":\"hostile\"", problem: "missing-field"),
      invalid(
        "an upstream that is an address", with("\"upstream\":\"http://169.254.169.254/\""),
        problem: "unknown-upstream"),
      invalid(
        "an upstream in other letters", with("\"upstream\":\"Default\""),
        problem: "unknown-upstream"),
      invalid("an upstream that is a number", with("\"upstream\":1")),
      invalid(
        "a field nobody knows", with("\"url\":\"http://169.254.169.254/\""),
        problem: "unknown-field"),
      invalid("a field of the relay's own", with("\"id\":\"x\""), problem: "unknown-field"),
      invalid("__proto__", with("\"__proto__\":{\"hold\":true}"), problem: "unknown-field"),
      invalid("a field in other letters", with("\"Hold\":true"), problem: "unknown-field"),
    ]

  private static let paths: [HostileRow] =
    [
      "half", "", "http://169.254.169.254/half", "//evil.example/../..", "/../half",
      "/a/../../half", "/%2e%2e/half",
      "/%2E%2e%2fhalf", "/a/..;/half", "/.%2e/half", "/half#x", "/ha lf", "/half\\n",
      "/half\\r\\nX: 1",
      "/half\\u0000", "/caf\u{C3}\u{A9}", "\\\\\\\\evil", "/a\\\\..\\\\half", "/./half",
      "@evil.example/half", "/\(String(repeating: "a", count: 8192))",
    ].map { invalid("the path \($0.prefix(28))", "\"client\":\"hostile\",\"path\":\"\($0)\"") } + [
      invalid("a path that is a number", "\"client\":\"hostile\",\"path\":7"),
      invalid("a path that is null", "\"client\":\"hostile\",\"path\":null"),
    ]

  private static let headers: [HostileRow] = [
    ("that are a text", "\"X: 1\""), ("that are an array", "[\"X: 1\"]"),
    ("with no name", "{\"\":\"a\"}"),
    ("with a blank in a name", "{\"X Y\":\"a\"}"), ("with a colon in a name", "{\"X:\":\"a\"}"),
    ("with a line end in a name", "{\"X\\r\\nY\":\"a\"}"),
    ("with a line end in a value", "{\"X\":\"a\\r\\nY: b\"}"),
    ("with a bare LF in a value", "{\"X\":\"a\\nY: b\"}"),
    ("with a NUL in a value", "{\"X\":\"a\\u0000\"}"),
    ("with a number", "{\"X\":1}"), ("with null", "{\"X\":null}"),
    ("with an empty array", "{\"X\":[]}"),
    ("with an array in an array", "{\"X\":[[\"a\"]]}"), ("with Host", "{\"Host\":\"evil\"}"),
    ("with Content-Length", "{\"content-length\":\"44\"}"),
    ("with Transfer-Encoding", "{\"Transfer-Encoding\":\"chunked\"}"),
    ("with Connection", "{\"Connection\":\"close\"}"), ("with Upgrade", "{\"Upgrade\":\"h2c\"}"),
    ("with TE", "{\"TE\":\"trailers\"}"), ("with Via", "{\"Via\":\"1.1 x\"}"),
    ("with Waystation-Client", "{\"Waystation-Client\":\"thief\"}"),
    ("with one field in two spellings", "{\"X-A\":\"1\",\"x-a\":\"2\"}"),
    ("101 in number", "{\((0..<101).map { "\"X-\($0)\":\"1\"" }.joined(separator: ","))}"),
    ("101 of one name", "{\"X\":[\"1\"\(String(repeating: ",\"1\"", count: 100))]}"),
    ("of 40,000 bytes", "{\"X\":\"\(String(repeating: "a", count: 40_000))\"}"),
  ].map { invalid("headers \($0.0)", with("\"headers\":\($0.1)")) }

  private static let times: [HostileRow] =
    [
      "\"\"", "\"now\"", "\"2026-02-30T00:00:00Z\"", "\"2026-13-01T00:00:00Z\"",
      "\"2026-01-01T24:00:00Z\"", "\"2026-01-01T00:60:00Z\"", "\"2026-01-01T00:00:00\"",
      "\"2026-01-01\"", "\"2026-01-01T00:00:00+25:00\"", "\"99999-01-01T00:00:00Z\"",
      "\"-001-01-01T00:00:00Z\"", "\"2026-01-01T00:00:00.Z\"", "\"2026-01-01T00:00:00Zx\"",
      "\"\u{D9}\u{A2}026-01-01T00:00:00Z\"", "1767225600", "1e400", "{}",
    ].flatMap { value in
      ["notBefore", "expiresAt"].map {
        invalid("\($0) \(value)", with("\"\($0)\":\(value)"))
      }
    }
    + [
      "-1", "1.5", "3155760001", "9223372036854775807", "1e400", "\"60\"", "\"PT1H\"", "{}",
    ].flatMap { value in
      ["notBeforeIn", "expiresIn", "age"].map {
        invalid("\($0) \(value)", with("\"\($0)\":\(value)"))
      }
    } + [
      invalid("two deadlines", with("\"expiresIn\":60,\"expiresAt\":\"2999-01-01T00:00:00Z\"")),
      invalid(
        "a deadline before the first attempt", with("\"expiresIn\":60,\"notBeforeIn\":60")),
      .taken(
        "the greatest spans",
        Wire.post(
          Wire.bytes("{\(with("\"expiresIn\":3155760000,\"age\":3155760000", path: "/taken"))}"))),
      invalid(
        "the last moment that a date can name, far behind the deadline",
        with("\"notBefore\":\"9999-12-31T23:59:59Z\",\"hold\":true")),
      .taken(
        "a deadline at the last moment that a date can name",
        Wire.post(
          Wire.bytes("{\(with("\"expiresAt\":\"9999-12-31T23:59:59Z\"", path: "/taken"))}"))),
      .taken(
        "a deadline in the year 0",
        Wire.post(Wire.bytes("{\(with("\"expiresAt\":\"0000-01-01T00:00:00Z\"", path: "/taken"))}"))
      ),
    ]

  private static let others: [HostileRow] =
    [
      "CONNECT", "connect", "TRACE", "P T", "", "G\\nT", "POST\\r\\nX: 1",
      String(repeating: "M", count: 33),
    ].map {
      invalid("the method \($0.prefix(12))", with("\"method\":\"\($0)\""))
    } + [
      invalid("hold as a text", with("\"hold\":\"true\"")),
      invalid("hold as a number", with("\"hold\":1")),
      invalid("onFailure of another kind", with("\"onFailure\":\"explode\"")),
      invalid("references as a text", with("\"references\":\"yes\"")),
      invalid("both kinds of body", with("\"body\":1,\"bodyBase64\":\"\"")),
      invalid("coalesce with a sequence number", with("\"coalesce\":\"a\",\"sequence\":1")),
      invalid("a reference without an end", with("\"references\":true,\"body\":\"{{response:a\"")),
      invalid(
        "a reference to a bad pointer", with("\"references\":true,\"body\":\"{{response:a#x}}\"")),
      invalid(
        "a thousand references",
        with(
          "\"references\":true,\"body\":\"\(String(repeating: "{{response:a#/b}}", count: 1000))\"")
      ),
      invalid(
        "an array instead of an object's field", with("\"client2\":[]"), problem: "unknown-field"),
      .answered(
        422, "invalid-field", "a number instead of an envelope", Wire.post(Wire.bytes("7"))),
      .answered(
        422, "invalid-field", "a text instead of an envelope", Wire.post(Wire.bytes("\"x\""))),
      .answered(422, "invalid-field", "null instead of an envelope", Wire.post(Wire.bytes("null"))),
    ]

  private static let base64: [HostileRow] =
    [
      "=", "A", "AA", "AAA", "A===", "AA=A", "AAAA=", "AAAA====", "AA==AA==", "AA AA", "AAAA\\n",
      "AA-_",
      "AB==", "AAF=", "\u{C3}\u{A9}AA=", "AA==\\u0000",
    ].map { invalid("base64 \($0)", with("\"bodyBase64\":\"\($0)\"")) } + [
      invalid("base64 that is a number", with("\"bodyBase64\":7")),
      .answered(
        413, "body-too-large", "base64 of more than a body may have",
        Wire.post(
          Wire.bytes("{\(with("\"bodyBase64\":\"\(String(repeating: "AAAA", count: 360_000))\""))}")
        )),
    ]
}
