import Testing

extension EndToEnd {
  /// An answer says `Connection: close` where the relay closes behind it, and only there: a proxy
  /// that keeps its connections would send somebody else's request on it.
  @Suite("The end of a connection", .serialized)
  struct ConnectionEnds {
    /// A call that is refused before its body is read.
    struct Refused: Sendable, CustomStringConvertible {
      let status: Int
      let line: String
      var fields: [String] = ["Content-Type: application/json"]

      var description: String { "\(status) \(line)" }
    }

    static let refused = [
      Refused(status: 401, line: "POST /v1/envelopes"),
      Refused(status: 404, line: "POST /nowhere"),
      Refused(status: 405, line: "PUT /v1/envelopes"),
      Refused(
        status: 415, line: "POST /v1/envelopes",
        fields: ["Content-Type: text/plain", "Authorization: Bearer \(Credentials.steer)"]),
    ]

    @Test(
      "chunks that a refused call leaves unread are dropped with their connection, which is said")
    func chunks() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, more: Credentials.configuration)
      let chunk = Wire.bytes("2710\r\n" + String(repeating: "a", count: 10_000) + "\r\n")
      for call in Self.refused {
        let head = Wire.request(call.line, call.fields + ["Transfer-Encoding: chunked"])
        try await onThread {
          // Before the end has come, nobody knows how much more there will be.
          for count in [0, 1, 10] {
            let connection = try Connection(port: relay.port)
            for part in [head] + [[UInt8]](repeating: chunk, count: count) {
              try? connection.write(part)
            }
            let answer = try connection.readResponse(to: "POST")
            #expect(answer.status == call.status, "\(call): \(answer)")
            #expect(answer["Connection"] == "close", "\(call), \(count) chunks")
            for _ in 0..<10 { try? connection.write(chunk) }
            #expect((try? connection.readToEnd())?.isEmpty ?? true)
          }
          // Here it has: the connection goes on.
          let connection = try Connection(port: relay.port)
          try connection.write(head + Wire.bytes("3\r\nabc\r\n0\r\n\r\n"))
          let answer = try connection.readResponse(to: "POST")
          #expect(answer["Connection"] == nil, "\(call)")
          try connection.write(Wire.request("GET /healthz"))
          #expect(try connection.readResponse(to: "GET").status == 200)
        }
      }
    }

    @Test("a chunked body that is empty, or an empty object, is none to a call that takes none")
    func chunkedNothing() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let head = Wire.request(
        "POST /v1/upstreams/default/resume",
        ["Content-Type: application/json", "Transfer-Encoding: chunked"])
      let bodies: [(String, Int)] = [
        ("0\r\n\r\n", 200), ("2\r\n{}\r\n0\r\n\r\n", 200),
        ("1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", 200), ("1\r\n{\r\n0\r\n\r\n", 422),
        ("7\r\n{\"a\":1}\r\n0\r\n\r\n", 422), ("3\r\n{} \r\n0\r\n\r\n", 422),
      ]
      try await onThread {
        for (body, status) in bodies {
          for parts in [[head + Wire.bytes(body)], [head, Wire.bytes(body)]] {
            let connection = try Connection(port: relay.port)
            for part in parts { try connection.write(part) }
            let answer = try connection.readResponse(to: "POST")
            #expect(answer.status == status, "\(body): \(answer)")
            guard answer["Connection"] != "close" else { continue }
            try connection.write(Wire.request("GET /healthz"))
            #expect(try connection.readResponse(to: "GET").status == 200, "\(body)")
          }
        }
        // More than nothing is not read to its end, which may never come.
        let connection = try Connection(port: relay.port)
        try connection.write(head + Wire.bytes("5\r\nabcde\r\n"))
        #expect(try connection.readResponse(to: "POST").status == 422)
      }
    }

    @Test("a HEAD is answered without a body, however wrong it is, and what follows it with one")
    func head() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let long = String(repeating: "a", count: 50_000)
      try await onThread {
        for (status, text) in [
          (400, "HEAD /healthz HTTP/1.1\r\n\r\n"), (400, "HEAD * HTTP/1.1\r\nHost: relay\r\n\r\n"),
          (414, "HEAD /\(long) HTTP/1.1\r\n"),
          (431, "HEAD / HTTP/1.1\r\nHost: relay\r\nX: \(long)"),
          (400, "HEAD / HTTP/1.1\r\nHost: relay\r\nX : 1\r\n"),
        ] {
          let connection = try Connection(port: relay.port)
          try connection.write(Wire.bytes(text))
          let answer = try connection.readResponse(to: "HEAD")
          #expect(answer.status == status, "\(text.prefix(60))")
          #expect(answer["Content-Length"].flatMap { Int($0) } ?? 0 > 0)
          #expect(try connection.readToEnd().isEmpty, "\(text.prefix(60))")
        }
        let connection = try Connection(port: relay.port)
        try connection.write(Wire.request("HEAD /healthz"))
        #expect(try connection.readResponse(to: "HEAD").status == 200)
        try connection.write(Wire.bytes("GARBAGE\r\n\r\n"))
        let answer = try connection.readResponse(to: "GET")
        #expect(answer.problem == "malformed-request")
        #expect(try connection.readToEnd().isEmpty)
      }
    }
  }
}
