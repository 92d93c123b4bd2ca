/// What says how long a body is: `Content-Length`, `Transfer-Encoding`, and both.
///
/// The shapes are those of RFC 9112 section 11.2 and of the published differential tests: two
/// recipients that read any of them differently could be made to see two requests in one.
enum HostileLengths {
  static let rows = lengths + codings + both + truncated

  private static func malformed(_ fields: String, _ rest: String = "") -> HostileRow {
    .malformed(
      fields.debugDescription, Wire.head(fields) + (rest.isEmpty ? Wire.smuggled : rest))
  }

  private static let lengths: [HostileRow] =
    [
      "+5", "-5", "5, 5", "5,5", "5, 6", "5 5", "0x5", "0b101", "5.0", "5e0", "", "five", "05\u{B}",
      "5;", "\u{B2}", "1_0", "9223372036854775808", "18446744073709551617",
      "99999999999999999999999999999999", "\u{0}5", "5\u{0}", "-0", "(5)", "\"5\"", "5\r\n 5",
    ].map { malformed("Content-Length: \($0)") } + [
      malformed("Content-Length: 5\r\nContent-Length: 5"),
      malformed("Content-Length: 0\r\nContent-Length: 44"),
      malformed("Content-Length: 44\r\nContent-Length: 0"),
      malformed("Content-Length: 5\r\ncontent-length: 6"),
      malformed("Content-Length : 5"),
      malformed("Content-Length\u{0}: 5"),
      malformed("Content Length: 5"),
      malformed(" Content-Length: 5"),
      malformed("X: y\r\n Content-Length: 5"),
      .refused(
        413, "body-too-large", "the largest Content-Length",
        Wire.bytes(Wire.head("Content-Length: 9223372036854775807"))),
      .refused(
        413, "body-too-large", "a Content-Length with zeros first",
        Wire.bytes(Wire.head("Content-Length: 00000000000000000000099999999999"))),
      .taken(
        "a Content-Length with zeros first that fits",
        Wire.bytes(Wire.head("Content-Length: 0000000000000000000000003", path: "/taken") + "abc")),
      .answered(
        200, nil, "a GET with a body that looks like a request",
        Wire.request("GET /healthz", [], body: Wire.bytes(Wire.smuggled))),
      HostileRow(
        name: "a GET with a body that never comes",
        steps: [
          .send(
            Wire.bytes(
              "GET /healthz HTTP/1.1\r\nHost: relay\r\nContent-Length: 9223372036854775807\r\n\r\n")
          )
        ],
        answers: [.init(status: 200)], ending: .closed),
      HostileRow(
        name: "Content_Length is no Content-Length",
        steps: [
          .send(
            Wire.request("GET /healthz", ["Content_Length: \(Wire.smuggled.utf8.count)"])
              + Wire.request("GET /healthz"))
        ],
        answers: [.init(status: 200), .init(status: 200)], ending: .goesOn),
    ]

  private static let codings: [HostileRow] =
    [
      "", "identity", "xchunked", "chunkedx", "chunked, chunked", "chunked, gzip", "chunked;a=b",
      "chunked,", ",chunked", "chunked gzip", "\"chunked\"", "'chunked'", "chunked\u{B}",
      "\u{B}chunked", "chunked\u{0}", "chunk\u{E9}d", "chunked, identity", "cow", "chunked;",
      "chunked\u{A0}", "\u{FF}chunked", "chunked,,", "[chunked]", "chunked\r\n chunked",
    ].map { malformed("Transfer-Encoding: \($0)", "0\r\n\r\n" + Wire.smuggled) } + [
      malformed("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      malformed("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "0\r\n\r\n"),
      malformed("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked, chunked", "0\r\n\r\n"),
      malformed("Transfer-Encoding:\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      malformed("Transfer-Encoding : chunked", "0\r\n\r\n"),
      malformed("Transfer-Encoding\t: chunked", "0\r\n\r\n"),
      malformed("X: y\r\n Transfer-Encoding: chunked", "0\r\n\r\n"),
      malformed(" Transfer-Encoding: chunked", "0\r\n\r\n"),
      malformed("Transfer-Encoding:\r\n chunked", "0\r\n\r\n"),
      malformed("X: y\rTransfer-Encoding: chunked", "0\r\n\r\n"),
      malformed("X: y\nTransfer-Encoding: chunked", "0\r\n\r\n"),
      .malformed(
        "Transfer-Encoding in HTTP/1.0",
        Wire.head("Transfer-Encoding: chunked", version: "1.0") + "0\r\n\r\n" + Wire.smuggled),
      .malformed(
        "Transfer-Encoding in HTTP/1.0 that keeps the connection",
        Wire.head("Transfer-Encoding: chunked\r\nConnection: keep-alive", version: "1.0")
          + "0\r\n\r\n" + Wire.smuggled),
    ]
    + [
      "gzip, chunked", "identity, chunked", "deflate\r\nTransfer-Encoding: chunked",
      "x, y, chunked",
    ].map {
      .refused(
        501, "not-implemented", "Transfer-Encoding: \($0.debugDescription)",
        Wire.bytes(Wire.head("Transfer-Encoding: \($0)") + "0\r\n\r\n" + Wire.smuggled))
    } + [
      .taken(
        "chunked in any letters and with blanks around",
        Wire.bytes(Wire.head("Transfer-Encoding: \t ChUnKeD \t", path: "/taken") + "0\r\n\r\n")),
      HostileRow(
        name: "Transfer_Encoding is no Transfer-Encoding",
        steps: [
          .send(
            Wire.request("GET /healthz", ["Transfer_Encoding: chunked"])
              + Wire.request("GET /healthz"))
        ],
        answers: [.init(status: 200), .init(status: 200)], ending: .goesOn),
    ]

  private static let both: [HostileRow] = [
    ("CL.TE", "Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG"),
    (
      "CL.TE with a request behind", "Content-Length: 200\r\nTransfer-Encoding: chunked",
      "0\r\n\r\n" + Wire.smuggled
    ),
    ("TE.CL", "Transfer-Encoding: chunked\r\nContent-Length: 3", "8\r\nSMUGGLED\r\n0\r\n\r\n"),
    (
      "TE.CL with a request in a chunk", "Content-Length: 4\r\nTransfer-Encoding: chunked",
      "7a\r\n" + Wire.smuggled + "\r\n0\r\n\r\n"
    ),
    (
      "TE.TE", "Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\nContent-Length: 4",
      "0\r\n\r\n"
    ),
    (
      "TE.TE in other letters",
      "Content-Length: 4\r\ntransfer-encoding: chunked\r\n"
        + "Transfer-encoding: identity", "0\r\n\r\n"
    ),
    (
      "CL.0 with TE of an unknown coding", "Content-Length: 0\r\nTransfer-Encoding: xchunked",
      "0\r\n\r\n"
    ),
    ("TE.0", "Transfer-Encoding: chunked\r\nContent-Length: 0", "0\r\n\r\n" + Wire.smuggled),
    (
      "both behind Connection: close",
      "Connection: close\r\nContent-Length: 4\r\n"
        + "Transfer-Encoding: chunked", "0\r\n\r\n" + Wire.smuggled
    ),
    (
      "both, named by Connection",
      "Connection: Content-Length\r\nContent-Length: 4\r\n"
        + "Transfer-Encoding: chunked", "0\r\n\r\n" + Wire.smuggled
    ),
    (
      "both, behind Expect",
      "Expect: 100-continue\r\nContent-Length: 4\r\n"
        + "Transfer-Encoding: chunked", "0\r\n\r\n" + Wire.smuggled
    ),
    (
      "both, with a folded coding", "Content-Length: 4\r\nTransfer-Encoding:\r\n chunked",
      "0\r\n\r\n"
    ),
    ("both in HTTP/1.0", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\nX: 1", "0\r\n\r\n"),
  ].map { .malformed($0.0, Wire.head($0.1) + $0.2) }

  /// What ends before it is whole: nobody waits for an answer, and nothing is stored.
  private static let truncated: [HostileRow] =
    [
      ("a method", "PUT"), ("a request line", "PUT /v1/relay/default/half HTTP/1.1\r\n"),
      ("a field", "PUT /v1/relay/default/half HTTP/1.1\r\nHost: rel"),
      ("a head", "PUT /v1/relay/default/half HTTP/1.1\r\nHost: relay\r\n"),
      ("a head before its last LF", "PUT /v1/relay/default/half HTTP/1.1\r\nHost: relay\r\n\r"),
      ("a body before its first byte", Wire.head("Content-Length: 5")),
      ("a body before its last byte", Wire.head("Content-Length: 5") + "abcd"),
      (
        "a body that goes to a file",
        Wire.head("Content-Length: 300000")
          + String(repeating: "x", count: 200_000)
      ),
      ("a body before its first chunk", Wire.head("Transfer-Encoding: chunked")),
      ("a chunk", Wire.head("Transfer-Encoding: chunked") + "5\r\nabc"),
      ("a chunk's size", Wire.head("Transfer-Encoding: chunked") + "5"),
      ("chunks before the last one", Wire.head("Transfer-Encoding: chunked") + "3\r\nabc\r\n"),
      ("the trailer section", Wire.head("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n"),
      ("the last CR LF", Wire.head("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r"),
      (
        "a batch",
        "POST /v1/envelopes HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"
          + "Content-Length: 90\r\n\r\n[{\"client\":\"hostile\",\"path\":\"/half\"}"
      ),
      ("nothing at all", ""),
    ].flatMap { what, text in
      [
        .silent("the peer ends its side within \(what)", [.send(Wire.bytes(text)), .halfClose]),
        HostileRow(
          name: "the peer resets within \(what)", steps: [.send(Wire.bytes(text)), .reset],
          answers: [], ending: .unwatched),
      ]
    }
}
