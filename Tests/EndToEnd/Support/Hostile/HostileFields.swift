/// Field lines, line ends, `Host`, `Expect` and `Connection`.
enum HostileFields {
  static let rows = lineEnds + lines + hosts + expectations + connections + sizes

  private static let line = "GET /healthz HTTP/1.1\r\n"
  private static let host = "Host: relay\r\n"

  private static let lineEnds: [HostileRow] = [
    ("a bare LF after the request line", "GET /healthz HTTP/1.1\nHost: relay\r\n\r\n"),
    ("a bare LF after a field", line + "Host: relay\nX: 1\r\n\r\n"),
    ("a bare LF as the empty line", line + host + "\n"),
    ("bare LFs alone", "GET /healthz HTTP/1.1\nHost: relay\n\n"),
    ("a bare LF first", "\n" + line + host + "\r\n"),
    ("a bare CR as the request line's end", "GET /healthz HTTP/1.1\rHost: relay\r\n\r\n"),
    ("a bare CR in the request line", "GET /healthz\r HTTP/1.1\r\n" + host + "\r\n"),
    ("a bare CR in a value", line + host + "X: a\rb\r\n\r\n"),
    (
      "a bare CR that hides a field",
      line + host + "X: a\rContent-Length: 44\r\n\r\n" + Wire.smuggled
    ),
    ("two CR before LF", line + host + "X: a\r\r\n\r\n"),
    ("CR CR LF as the empty line", line + host + "\r\r\n"),
    ("LF CR as a line's end", line + "Host: relay\n\rX: 1\r\n\r\n"),
    ("a NUL before the line's end", line + host + "X: a\u{0}\r\n\r\n"),
    ("a form feed as a line's end", line + "Host: relay\u{C}X: 1\r\n\r\n"),
  ].map { .malformed($0.0, $0.1) }

  private static let lines: [HostileRow] =
    [
      "X: a\r\n b", "X: a\r\n\tb", " X: a", "\tX: a", "X : a", "X\t: a", "X", ": a", "X\u{0}: a",
      "X: a\u{0}b", "X: a\u{1}b", "X: a\u{7F}", "X: a\u{B}b", "X Y: a", "X(: a", "X\u{E9}: a",
      "X\u{A0}: a", "X;: a", "\"X\": a", "X=a", "Transfer-Encoding\r\n : chunked", "\u{0}: a",
    ].map {
      .malformed("the field \($0.debugDescription)", line + host + $0 + "\r\n\r\n")
    } + [
      .malformed("white space behind the request line", line + "  \r\n" + host + "\r\n"),
      .malformed("a folded Host", line + "Host:\r\n relay\r\n\r\n"),
      .answered(
        200, nil, "bytes above 0x7F in a value", Wire.request("GET /healthz", ["X: \u{FF}\u{80}"])),
      .answered(200, nil, "an empty value", Wire.request("GET /healthz", ["X:"])),
      .answered(
        200, nil, "a name of every sign a token has",
        Wire.request("GET /healthz", ["!#$%&'*+-.^_`|~9: a"])),
    ]

  private static let hosts: [HostileRow] =
    [
      "", "a b", "a/b", "a,b:x", "a:99999", "a:-1", "a:80:80", "[::1", "::1]", "[]", "a@b", ":80",
      "[g::1]", "http://relay", "[::1]x", "relay?", "relay#", "a\u{E9}", "relay\\", "[::1%25lo]",
    ].map {
      .malformed("the Host \($0.debugDescription)", line + "Host: \($0)\r\n\r\n")
    } + [
      .malformed("no Host", line + "X: 1\r\n\r\n"),
      .malformed("no field at all", line + "\r\n"),
      .malformed("two Hosts", line + host + host + "\r\n"),
      .malformed("two Hosts in other letters", line + host + "hOST: other\r\n\r\n"),
      .malformed("two Hosts in HTTP/1.0", "GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
      .malformed("no Host beside an absolute target", "GET http://relay/healthz HTTP/1.1\r\n\r\n"),
      HostileRow(
        name: "no Host in HTTP/1.0", steps: [.send(Wire.bytes("GET /healthz HTTP/1.0\r\n\r\n"))],
        answers: [.init(status: 200)], ending: .closed),
    ]

  private static let expectations: [HostileRow] =
    ["200-ok", "100-continue, 200-ok", "", "100-continue;x=1", "100", "0-continue"].map {
      .refused(
        417, "expectation-failed", "Expect: \($0)",
        Wire.request("POST /v1/envelopes", ["Expect: \($0)"], body: []))
    } + [
      .answered(
        200, nil, "Expect where there is no body",
        Wire.request("GET /healthz", ["Expect: 100-continue"])),
      HostileRow(
        name: "Expect, refused before the body is sent",
        steps: [
          .send(
            Wire.bytes(
              Wire.head("Expect: 100-continue\r\nContent-Length: 99999999999", path: "/half")))
        ],
        answers: [.init(status: 413, problem: "body-too-large")], ending: .closed),
      HostileRow(
        name: "Expect, and the body at once, with another request behind",
        steps: [
          .send(
            Wire.bytes(
              Wire.head("Expect: 100-continue\r\nContent-Length: 3", path: "/taken") + "abc"))
        ],
        answers: [.init(status: 202)], ending: .goesOn, taken: 1),
    ]

  private static let connections: [HostileRow] = [
    .malformed(
      "Connection: close hides nothing that follows",
      "GET /healthz HTTP/1.1\r\nHost: relay\r\nConnection: close\r\nContent-Length: 3, 3\r\n\r\nabc"
    ),
    HostileRow(
      name: "Connection: close, and a request behind it",
      steps: [
        .send(Wire.request("GET /healthz", ["Connection: close"]) + Wire.bytes(Wire.smuggled))
      ],
      answers: [.init(status: 200)], ending: .closed),
    .taken(
      "Connection names Content-Length and Transfer-Encoding",
      Wire.relayed("/taken", ["Connection: content-length, transfer-encoding, host"], body: [120])),
    .taken(
      "Connection names what the relay itself reads",
      Wire.relayed("/taken", ["Connection: Waystation-Client, keep-alive, ,,"], body: [120])),
    .taken(
      "Connection with 16,000 names",
      Wire.relayed("/taken", ["Connection: " + String(repeating: "a,", count: 16_000)], body: [])),
    .answered(
      200, nil, "Connection: keep-alive and Keep-Alive: timeout=-1",
      Wire.request("GET /healthz", ["Connection: keep-alive", "Keep-Alive: timeout=-1, max=x"])),
  ]

  private static let sizes: [HostileRow] = [
    .refused(
      431, "header-fields-too-large", "ten thousand fields",
      Wire.request("GET /healthz", (0..<10_000).map { "X-\($0): 1" })),
    .refused(
      431, "header-fields-too-large", "133 fields",
      Wire.request("GET /healthz", (0..<132).map { "X-\($0): 1" })),
    .answered(
      200, nil, "132 fields", Wire.request("GET /healthz", (0..<131).map { "X-\($0): 1" })),
    .refused(
      431, "header-fields-too-large", "a value of 50,000 bytes",
      Wire.request("GET /healthz", ["X: " + String(repeating: "a", count: 50_000)])),
    .refused(
      431, "header-fields-too-large", "a name of 50,000 bytes",
      Wire.request("GET /healthz", [String(repeating: "a", count: 50_000) + ": x"])),
    .refused(
      431, "header-fields-too-large", "a megabyte of field without an end",
      Wire.bytes(line + "X: " + String(repeating: "a", count: 1 << 20))),
  ]
}
