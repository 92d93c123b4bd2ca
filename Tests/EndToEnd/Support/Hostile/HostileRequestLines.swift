/// Request lines: what they may not be, and what only looks odd.
enum HostileRequestLines {
  static let rows = malformed + versions + methods + targets + preambles

  /// A request line, with a sound rest.
  private static func line(_ line: String) -> String { "\(line)\r\nHost: relay\r\n\r\n" }

  private static let malformed: [HostileRow] =
    [
      "GET", "GET /healthz", "GET  /healthz HTTP/1.1", "GET /healthz  HTTP/1.1",
      "GET /healthz HTTP/1.1 ", " GET /healthz HTTP/1.1", "GET\t/healthz HTTP/1.1",
      "GET /healthz\tHTTP/1.1", "GET /healthz http/1.1", "GET /healthz HTTP/1,1",
      "GET /healthz HTTP/11", "GET /healthz HTTP/1.10", "GET /healthz HTTP/01.1",
      "GET /healthz HTTP/+1.1", "GET /healthz HTTP/1.1;x", "GET /healthz HTTP/ 1.1",
      "GET /healthz HTTP/1.\u{B9}", "GET /healthz HTP/1.1", "GET /healthz RTSP/1.0",
      "/healthz HTTP/1.1", "G(T /healthz HTTP/1.1", "G\u{0}T /healthz HTTP/1.1",
      "G\u{C9}T /healthz HTTP/1.1", "GET:/healthz HTTP/1.1", "GET /health z HTTP/1.1",
      "GET /healthz HTTP/1.1 GET /smuggled HTTP/1.1", "{\"path\":\"/\"}",
      "GET /healthz \u{B}HTTP/1.1", "GET /healthz\u{A0}HTTP/1.1",
    ].map { .malformed("the request line \($0.debugDescription)", line($0)) } + [
      // Four empty lines are let pass before a request line, so the fifth is one too many.
      .malformed("five empty lines first", "\r\n\r\n\r\n\r\n\r\n" + line("GET / HTTP/1.1"))
    ]

  private static let versions: [HostileRow] =
    ["0.9", "2.0", "3.0", "9.9", "0.0"].map {
      .refused(
        505, "http-version-not-supported", "HTTP/\($0)",
        Wire.bytes(line("GET /healthz HTTP/\($0)")))
    } + [
      .malformed("HTTP/0.9 without a version", "GET /healthz\r\n"),
      .answered(200, nil, "a later 1.x", Wire.bytes(line("GET /healthz HTTP/1.9"))),
      .refused(
        505, "http-version-not-supported", "the preface of HTTP/2",
        Wire.bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u{0}\u{0}\u{0}\u{4}\u{0}\u{0}")),
      .answered(
        200, nil, "an upgrade to h2c, which nobody has to take up",
        Wire.request(
          "GET /healthz",
          ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"])),
      .answered(
        200, nil, "an upgrade to a WebSocket",
        Wire.request(
          "GET /healthz",
          [
            "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
          ])),
    ]

  private static let methods: [HostileRow] = [
    .refused(
      501, "not-implemented", "CONNECT",
      Wire.bytes("CONNECT upstream:443 HTTP/1.1\r\nHost: upstream:443\r\n\r\n")),
    .refused(
      501, "not-implemented", "CONNECT to a path", Wire.request("CONNECT /v1/relay/default/half")),
    .answered(405, "method-not-allowed", "TRACE", Wire.request("TRACE /healthz")),
    .answered(405, "method-not-allowed", "a method in small letters", Wire.request("get /healthz")),
    .answered(405, "method-not-allowed", "a method nobody knows", Wire.request("FROB /v1/events")),
    .answered(
      405, "method-not-allowed", "a method of 8,000 characters",
      Wire.request(String(repeating: "M", count: 8000) + " /healthz")),
    .refused(
      414, "uri-too-long", "a method without an end",
      Wire.bytes(String(repeating: "M", count: 9000))),
    .answered(
      405, "method-not-allowed", "TRACE through the relay", Wire.relayed("/half", method: "TRACE")),
    .answered(
      405, "method-not-allowed", "trace in small letters", Wire.relayed("/half", method: "trace")),
    .answered(
      422, "invalid-field", "connect in small letters", Wire.relayed("/half", method: "connect")),
    .answered(
      422, "invalid-field", "a relayed method of 33 characters",
      Wire.relayed("/half", method: String(repeating: "M", count: 33))),
    .taken(
      "a relayed method with every sign a token has", Wire.relayed(method: "!#$%&'*+-.^_`|~0aZ")),
    .answered(
      405, "method-not-allowed", "DELETE of the queue's route", Wire.request("DELETE /v1/envelopes")
    ),
  ]

  private static let targets: [HostileRow] =
    [
      "healthz", "*", "h:80", "ftp://relay/healthz", "http:///healthz", "http://a@relay/healthz",
      "http://relay:99999/healthz", "http://relay:8o/healthz", "http://[::1/healthz",
      "HTTP:/healthz",
      "/healthz#there", "/a\u{0}b", "/a\u{7F}b", "/a\u{1}b", "/caf\u{C3}\u{A9}", "/\u{E9}",
      "/\"a\"", "/<a>", "\\healthz", "?x", "file:///etc/passwd",
    ].map {
      .malformed("the target \($0.debugDescription)", line("GET \($0) HTTP/1.1"))
    }
    + [
      ("OPTIONS **", 400), ("OPTIONS *?", 400),
    ].map { .malformed("\($0.0)", line("\($0.0) HTTP/1.1")) } + [
      .answered(204, nil, "OPTIONS *", Wire.request("OPTIONS *")),
      .answered(200, nil, "an absolute target", Wire.request("GET http://relay/healthz")),
      .answered(
        200, nil, "an absolute target that names another host than Host",
        Wire.request("GET http://evil.example:81/healthz")),
      .answered(
        404, "not-found", "an absolute target without a path", Wire.request("GET http://relay")),
      .answered(
        404, "not-found", "an absolute target with a query alone",
        Wire.request("GET http://relay?a")),
      .answered(404, "not-found", "two slashes first", Wire.request("GET //healthz")),
      .answered(404, "not-found", "dot segments", Wire.request("GET /v1/../healthz")),
      .answered(404, "not-found", "a letter percent-encoded", Wire.request("GET /%68ealthz")),
      .answered(404, "not-found", "an encoded NUL", Wire.request("GET /healthz%00")),
      .answered(404, "not-found", "an encoded CR LF", Wire.request("GET /healthz%0d%0aX:%201")),
      .answered(404, "not-found", "a lone percent sign", Wire.request("GET /healthz%")),
      .answered(404, "not-found", "a slash at the end", Wire.request("GET /healthz/")),
      .answered(404, "not-found", "a parameter in the path", Wire.request("GET /healthz;x=1")),
      .answered(
        404, "unknown-client", "a client of bad UTF-8", Wire.request("GET /v1/clients/%ff%fe")),
      .answered(
        404, "unknown-client", "a client of half a percent", Wire.request("GET /v1/clients/a%4")),
      .answered(404, "unknown-client", "a client named NUL", Wire.request("GET /v1/clients/%00")),
      .answered(
        404, "unknown-envelope", "an id of dots", Wire.request("GET /v1/envelopes/..%2f..")),
      .answered(
        404, "unknown-envelope", "an id of 8,000 characters",
        Wire.request("GET /v1/envelopes/" + String(repeating: "0", count: 8000))),
      .refused(
        414, "uri-too-long", "a target of 9,000 characters",
        Wire.request("GET /" + String(repeating: "a", count: 9000))),
      .refused(
        414, "uri-too-long", "a target of a million characters without an end",
        Wire.bytes("GET /" + String(repeating: "a", count: 1_000_000))),
    ]

  /// What speaks another protocol.
  private static let preambles: [HostileRow] = [
    .malformed(
      "a TLS hello", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}\n\r\n\u{0}\u{0}"),
    .malformed("SSH", "SSH-2.0-OpenSSH_9.2\r\n"),
    .malformed("SMTP", "EHLO relay\r\n"),
    .malformed(
      "the PROXY protocol", "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n" + line("GET / HTTP/1.1")),
    .malformed(
      "the PROXY protocol's second version",
      "\r\n\r\n\u{0}\r\nQUIT\n\u{21}\u{11}\u{0}\u{C}" + line("GET / HTTP/1.1")),
    .malformed("an answer instead of a request", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    .malformed("JSON", "{\"client\":\"c\",\n\"path\":\"/half\"}\n"),
    .malformed("zeros", String(repeating: "\u{0}", count: 4096) + "\r\n"),
    .malformed("a byte order mark first", "\u{EF}\u{BB}\u{BF}" + line("GET /healthz HTTP/1.1")),
    .malformed("what is left of another body", "x=1" + line("\r\nGET /healthz HTTP/1.1")),
  ]
}
