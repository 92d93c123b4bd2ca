/// What is hostile by when it comes, and by how much of it there is.
enum HostileConversations {
  static let rows = slow + pipelined + silent

  private static let request = Wire.request("GET /healthz")

  /// The relay is told to wait a second and a half for heads and bodies, and for silence.
  private static let slow: [HostileRow] = [
    late(
      "a head, a byte at a time",
      [.trickle(Wire.bytes(Wire.head("Content-Length: 0")), everyMs: 100)]),
    late(
      "a request line, a byte at a time",
      [.trickle([UInt8](repeating: 65, count: 600), everyMs: 100)]),
    late(
      "a field that goes on, a byte at a time",
      [
        .send(Wire.bytes("GET /healthz HTTP/1.1\r\nX: ")),
        .trickle([UInt8](repeating: 65, count: 600), everyMs: 100),
      ]),
    late(
      "half a head and then nothing",
      [.send(Wire.bytes("GET /healthz HTTP/1.1\r\nHost: relay\r\n"))]),
    late(
      "a body, a byte at a time",
      [
        .send(Wire.bytes(Wire.head("Content-Length: 600"))),
        .trickle([UInt8](repeating: 65, count: 600), everyMs: 100),
      ]),
    late(
      "a body that goes to a file, a byte at a time",
      [
        .send(
          Wire.bytes(Wire.head("Content-Length: 900000")) + [UInt8](repeating: 65, count: 300_000)),
        .trickle([UInt8](repeating: 65, count: 600), everyMs: 100),
      ]),
    late(
      "half a body and no more", [.send(Wire.bytes(Wire.head("Content-Length: 600") + "abc"))]),
    late(
      "chunks, a byte at a time",
      [
        .send(Wire.bytes(Wire.head("Transfer-Encoding: chunked"))),
        .trickle(Wire.bytes(String(repeating: "1\r\na\r\n", count: 100)), everyMs: 100),
      ]),
    late(
      "trailers, a byte at a time",
      [
        .send(Wire.bytes(Wire.head("Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\nX: ")),
        .trickle([UInt8](repeating: 65, count: 600), everyMs: 100),
      ]),
    late(
      "a batch, a byte at a time",
      [
        .send(
          Wire.bytes(
            "POST /v1/envelopes HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"
              + "Content-Length: 600\r\n\r\n")),
        .trickle([UInt8](repeating: 32, count: 600), everyMs: 100),
      ]),
    late(
      "a body that is announced and not sent",
      [
        .send(Wire.bytes(Wire.head("Expect: 100-continue\r\nContent-Length: 5")))
      ]),
    HostileRow(
      name: "a whole request, a byte at a time, in good time",
      steps: [.trickle(Wire.relayed("/taken", body: [1, 2, 3]), everyMs: 1)],
      answers: [.init(status: 202)], ending: .goesOn, taken: 1),
  ]

  private static func late(_ name: String, _ steps: [HostileRow.Step]) -> HostileRow {
    HostileRow(
      name: "late: \(name)", steps: steps,
      answers: [.init(status: 408, problem: "request-timeout")], ending: .closed)
  }

  private static let pipelined: [HostileRow] = [
    HostileRow(
      name: "pipelined: three requests in one go",
      steps: [.send(request + Wire.relayed("/taken", body: [1]) + Wire.request("GET /nowhere"))],
      answers: [.init(status: 200), .init(status: 202), .init(status: 404, problem: "not-found")],
      ending: .goesOn, taken: 1),
    HostileRow(
      name: "pipelined: a bad request behind a good one, and a good one behind that",
      steps: [.send(request + Wire.bytes("GARBAGE\r\n\r\n" + Wire.smuggled))],
      answers: [.init(status: 200), .init(status: 400, problem: "malformed-request")],
      ending: .closed),
    HostileRow(
      name: "pipelined: a refused body, and what looks like a request in it",
      steps: [
        .send(
          Wire.request(
            "POST /v1/envelopes", ["Content-Type: text/plain"], body: Wire.bytes(Wire.smuggled)))
      ],
      answers: [.init(status: 415, problem: "unsupported-media-type")], ending: .goesOn),
    HostileRow(
      name: "pipelined: a refused body that is too long to be skipped",
      steps: [
        .send(
          Wire.request(
            "POST /v1/envelopes", ["Content-Type: text/plain"],
            body: Wire.bytes(String(repeating: Wire.smuggled, count: 10_000))))
      ],
      answers: [.init(status: 415, problem: "unsupported-media-type")], ending: .closed),
    HostileRow(
      name: "pipelined: refused chunks that are too long to be skipped",
      steps: [
        .send(
          Wire.request(
            "POST /v1/envelopes", ["Content-Type: text/plain", "Transfer-Encoding: chunked"])
            + Wire.bytes("100000\r\n" + String(repeating: Wire.smuggled, count: 5000)))
      ],
      answers: [.init(status: 415, problem: "unsupported-media-type")], ending: .closed),
    HostileRow(
      name: "pipelined: refused chunks that break",
      steps: [
        .send(
          Wire.request(
            "POST /v1/envelopes", ["Content-Type: text/plain", "Transfer-Encoding: chunked"])
            + Wire.bytes("3\r\nabcd\r\n" + Wire.smuggled))
      ],
      answers: [.init(status: 415, problem: "unsupported-media-type")], ending: .closed),
    HostileRow(
      name: "pipelined: the peer ends its side behind its last request",
      steps: [.send(request + request), .halfClose],
      answers: [.init(status: 200), .init(status: 200)], ending: .endedByPeer),
    HostileRow(
      name: "pipelined: the peer ends its side behind a stored one",
      steps: [.send(Wire.relayed("/taken", body: [1])), .halfClose],
      answers: [.init(status: 202)], ending: .endedByPeer, taken: 1),
    HostileRow(
      name: "pipelined: HTTP/1.0 without keep-alive, and a request behind it",
      steps: [.send(Wire.bytes("GET /healthz HTTP/1.0\r\n\r\n" + Wire.smuggled))],
      answers: [.init(status: 200)], ending: .closed),
    HostileRow(
      name: "pipelined: HTTP/1.0 that keeps the connection",
      steps: [.send(Wire.bytes("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"))],
      answers: [.init(status: 200)], ending: .goesOn),
    HostileRow(
      name: "pipelined: four empty lines between two requests",
      steps: [.send(request + Wire.bytes("\r\n\r\n\r\n\r\n") + request)],
      answers: [.init(status: 200), .init(status: 200)], ending: .goesOn),
  ]

  private static let silent: [HostileRow] = [
    HostileRow(name: "silent: nothing is ever sent", steps: [], answers: [], ending: .closed),
    HostileRow(
      name: "silent: nothing behind the first answer", steps: [.send(request), .answer],
      answers: [.init(status: 200)], ending: .endedByPeer),
    HostileRow(
      name: "silent: empty lines alone", steps: [.send(Wire.bytes("\r\n\r\n"))], answers: [],
      ending: .closed),
    HostileRow(
      name: "reset: at once", steps: [.reset], answers: [], ending: .unwatched),
    HostileRow(
      name: "reset: behind a whole question", steps: [.send(request), .reset], answers: [],
      ending: .unwatched),
    HostileRow(
      name: "reset: while it waits for what never comes",
      steps: [.send(Wire.request("GET /v1/events?client=nobody")), .reset], answers: [],
      ending: .unwatched),
  ]
}
