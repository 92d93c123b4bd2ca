/// Requests on `/v1/relay/{upstream}/{path}`, which are the envelopes themselves.
enum HostileRelayed {
  static let rows = fields + paths + bodies

  private static func invalid(_ field: String, _ problem: String = "invalid-field") -> HostileRow {
    .answered(
      422, problem, "relayed with \(field.debugDescription.prefix(60))",
      Wire.relayed("/half", [field], body: []))
  }

  private static let fields: [HostileRow] =
    ["Lane", "Tag", "Coalesce"].flatMap { name in
      ["", "a b", "\u{E9}", String(repeating: "n", count: 129)].map {
        invalid("Waystation-\(name): \($0)")
      }
    }
    + [
      "Idempotency-Key: ", "Idempotency-Key: a b", "Waystation-Sequence: 0",
      "Waystation-Sequence: -1",
      "Waystation-Sequence: +1", "Waystation-Sequence: 1.0",
      "Waystation-Sequence: 9007199254740992",
      "Waystation-Sequence: 99999999999999999999", "Waystation-Sequence: ",
      "Waystation-Sequence: 1, 2",
      "Waystation-Hold: yes", "Waystation-Hold: TRUE", "Waystation-Hold: ",
      "Waystation-Not-Before: tomorrow",
      "Waystation-Not-Before: 2026-02-30T00:00:00Z", "Waystation-Expires-At: 0",
      "Waystation-Expires-At: ",
      "Waystation-On-Failure: explode", "Waystation-References: maybe", "Waystation-Client: second",
      "Waystation-Lane: a\r\nWaystation-Lane: a", "Idempotency-Key: a\r\nIdempotency-Key: b",
      "Waystation-Coalesce: a\r\nWaystation-Sequence: 1",
    ].map { invalid($0) } + [
      invalid("Waystation-Id: x", "unknown-field"),
      invalid("Waystation-Klient: x", "unknown-field"),
      invalid("Waystation-\(String(repeating: "x", count: 5000)): x", "unknown-field"),
      .answered(
        422, "missing-field", "relayed without a client",
        Wire.request("PUT /v1/relay/default/half", body: [])),
      .taken(
        "relayed with fields of hops",
        Wire.relayed(
          "/taken",
          [
            "TE: trailers", "Trailer: X", "Upgrade: h2c", "Proxy-Authorization: Basic eA==",
            "Keep-Alive: 5",
            "Proxy-Connection: keep-alive",
          ], body: [])),
      .taken(
        "relayed with preferences that make no sense",
        Wire.relayed(
          "/taken",
          [
            "Prefer: wait=abc", "Prefer: wait=-5, wait=\"", "Prefer: ,;=,;,", "Prefer: \"\\",
          ], body: [])),
      .taken(
        "relayed with 8,000 preferences",
        Wire.relayed(
          "/taken",
          [
            "Prefer: " + String(repeating: "a=b,", count: 8000)
          ], body: [])),
    ]

  private static let paths: [HostileRow] =
    [
      "/../half", "/a/%2e%2e/half", "/a/..%2fhalf", "/a/..;x/half", "/%2e/half", "/a/..%5chalf",
      "/a\\..\\half",
      "/\(String(repeating: "a", count: 8100))/..",
    ].map {
      .answered(422, "invalid-field", "relayed to \($0.prefix(24))", Wire.relayed($0, body: []))
    } + [
      .answered(
        421, "unknown-host", "relayed to an absolute target of another host",
        Wire.bytes(
          "PUT http://evil.example/v1/relay/default/half HTTP/1.1\r\nHost: relay\r\n"
            + "Waystation-Client: hostile\r\nContent-Length: 0\r\n\r\n")),
      .taken(
        "relayed to an absolute target",
        Wire.bytes(
          "PUT http://relay/v1/relay/default/taken HTTP/1.1\r\nHost: relay\r\n"
            + "Waystation-Client: hostile\r\nContent-Length: 0\r\n\r\n")),
      .taken(
        "relayed with a query of every sign",
        Wire.relayed("/taken?a=%00&b=%0d%0a&c={|}^`[]\\".replacing("\\", with: ""), body: [])),
    ]

  private static let bodies: [HostileRow] = [
    HostileRow(
      name: "relayed with a body over the limit",
      steps: [.send(Wire.relayed("/half", body: [UInt8](repeating: 120, count: 1_048_577)))],
      answers: [.init(status: 413, problem: "body-too-large")], ending: .closed),
    .taken("relayed with a body of every byte", Wire.relayed("/taken", body: Array(0...255))),
    .taken(
      "relayed with a body that says it is gzip and is not",
      Wire.relayed("/taken", ["Content-Encoding: gzip"], body: [1, 2])),
    .taken(
      "relayed with a body at the limit",
      Wire.relayed("/taken", body: [UInt8](repeating: 120, count: 1_048_576))),
  ]
}
