import Testing

extension EndToEnd {
  /// The tests' own tools: a mistake in them would let a mistake of the relay's through.
  @Suite("The tools", .serialized)
  struct Tools {
    @Test("an upstream records what it gets, goes away, and comes back on the same port")
    func upstream() async throws {
      let upstream = try TestUpstream()
      let device = Device("d", port: upstream.port)
      #expect(try await device.request("PUT", "/a?b", body: [0, 255]).status == 200)
      #expect(try await device.get("/c").status == 200)
      #expect(upstream.received.map(\.target) == ["/a?b", "/c"])
      #expect(upstream.received[0].body == [0, 255])

      upstream.stop()
      await #expect(throws: (any Error).self) { try await device.get("/d") }
      #expect(throws: SocketError.self) { try Connection(port: upstream.port) }
      try upstream.start()
      #expect(try await device.get("/e").status == 200)
      #expect(upstream.received.map(\.target) == ["/a?b", "/c", "/e"])
    }

    @Test("an upstream cuts, fails, and never answers, as it is told")
    func behaviours() async throws {
      let upstream = try TestUpstream { request in
        switch request.target {
        case "/cut": .cut
        case "/never": .never
        default: .answer(503, body: [1])
        }
      }
      let device = Device("d", port: upstream.port)
      let failed = try await device.get("/fail")
      #expect(failed.status == 503)
      #expect(failed.body == [1])
      await #expect(throws: (any Error).self) { try await device.get("/cut") }
      let never = Task { try await device.get("/never") }
      try await upstream.received(count: 3)
      upstream.stop()
      await #expect(throws: (any Error).self) { try await never.value }
    }

    @Test("a program's output, errors and ending are seen")
    func childProcess() async throws {
      let program = try ChildProcess("/bin/sh", ["-c", "echo one; echo two >&2; exit 3"])
      #expect(try await program.firstLine() == "one")
      #expect(try await program.ending() == .exit(3))
      #expect(program.errors == "two\n")
      let endless = try ChildProcess("/bin/cat", ["/dev/zero"])
      endless.signal(9)
      #expect(try await endless.ending() == .signal(9))
    }
  }
}
