import Foundation
import Glibc
import Testing

extension EndToEnd {
  /// Each client stands before a real relay and an upstream of the test's.
  ///
  /// A front between client and relay holds what a test wants held.
  @Suite("The clients in examples/", .serialized, .ofNoStore)
  struct Examples {
    private typealias Body = [String: any Sendable]

    @Test("what was kept while the relay was away arrives once it is back", arguments: languages)
    func outage(language: ExampleLanguage) async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      try await relay.kill()
      let client = try await ExampleClient(language, port: relay.port)
      let keys = try await client.add(all: Self.paths(1...3))

      let once = try client.start("send", "--once")
      #expect(try await once.ending() == .exit(75))
      #expect(once.output.hasSuffix("3 wait, 0 refused\n"))
      let sending = try client.start("send")
      try await sending.errors(hold: "trying again in")
      try await relay.start()
      #expect(try await sending.ending() == .exit(0), "\(sending.errors)")
      #expect(sending.keys("taken") == keys)
      let received = try await upstream.received(count: 3)
      #expect(received.map(\.target) == Self.paths(1...3))
      #expect(received.map { $0["Idempotency-Key"] } == keys)
      #expect(received.map { $0["Content-Type"] } == Array(repeating: "application/json", count: 3))
      #expect(received.map(\.body) == Array(repeating: Array("{}".utf8), count: 3))
      #expect(try await client.list().isEmpty)

      // What ended is told once.
      for key in keys { try await Self.delivered(key, relay.device()) }
      let asking = try client.start("send")
      #expect(try await asking.ending() == .exit(0))
      let told = sending.keys("ended") + asking.keys("ended")
      #expect(told.sorted() == keys.sorted(), "\(asking.output)")
      let again = try client.start("send")
      #expect(try await again.ending() == .exit(0))
      #expect(again.keys("ended").isEmpty)
    }

    @Test(
      "a client that is killed at each of its calls loses nothing and doubles nothing",
      arguments: languages)
    func killed(language: ExampleLanguage) async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, more: ["limits": ["batchCountMax": 2] as Body])
      let front = try TestUpstream()
      let client = try await ExampleClient(language, port: front.port)
      let keys = try await client.add(all: Self.paths(1...6))

      var duplicates: [String] = []
      var step = 0
      while true {
        let held = Monitor(Held())
        front.behave(Self.holding(step, relay.port, held))
        let sending = try client.start("send")
        let end = Task {
          let ending = try await sending.ending()
          held.change { $0.ending = ending }
        }
        let ending: Ending? = try await held.wait("a call that is held, or the end", seconds: 30) {
          $0.isHeld ? .some(nil) : $0.ending.map { .some($0) }
        }
        if ending == nil { sending.signal(SIGKILL) }
        try await end.value
        duplicates += sending.keys("duplicate")
        step += 1
        guard let ending else { continue }
        #expect(ending == .exit(0), "\(sending.errors)")
        break
      }
      // Each call was held once before it was made, and once after.
      #expect(step > 6)
      #expect(!duplicates.isEmpty)
      #expect(try await client.list().isEmpty)
      for key in keys { try await Self.delivered(key, relay.device()) }
      #expect(upstream.received.map(\.target) == Self.paths(1...6))
      let posts = front.received.filter { $0.target == "/v1/envelopes" }
      let counts = posts.map { $0.body.count { $0 == UInt8(ascii: "\n") } }
      #expect(counts.allSatisfy { 1...2 ~= $0 }, "\(counts)")
    }

    @Test(
      "what is refused for good is kept apart, and holds up nothing behind it", arguments: languages
    )
    func refused(language: ExampleLanguage) async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, more: ["limits": ["bodyBytesMax": 100] as Body])
      let client = try await ExampleClient(language, port: relay.port)
      let bad = try await client.add("no-slash")
      _ = try await client.add("/1")
      let large = try await client.add("/large", body: String(repeating: "x", count: 101))
      let last = try await client.add("/2", body: String(repeating: "y", count: 100))

      let sending = try client.start("send")
      #expect(try await sending.ending() == .exit(1), "\(sending.errors)")
      #expect(sending.keys("refused").sorted() == [bad, large].sorted())
      #expect(sending.output.contains("refused \(bad) 422 invalid-field: "))
      #expect(sending.output.contains("refused \(large) 413 body-too-large: "))
      #expect(sending.output.hasSuffix("0 wait, 2 refused\n"))
      try await Self.delivered(last, relay.device())
      #expect(upstream.received.map(\.target) == ["/1", "/2"])
      let listed = try await client.list()
      #expect(listed.map { Array($0.prefix(2)) } == [["refused", bad], ["refused", large]])

      // Alone in its batch it is refused all the same, and what comes later goes on.
      let alone = try await client.add("alone")
      let next = try client.start("send")
      #expect(try await next.ending() == .exit(1))
      #expect(next.keys("refused") == [alone])
      let later = try await client.add("/3")
      let after = try client.start("send")
      #expect(try await after.ending() == .exit(1))
      try await Self.delivered(later, relay.device())
      #expect(upstream.received.map(\.target) == ["/1", "/2", "/3"])
    }

    @Test("an envelope whose number the lane takes no longer is sent by its key alone")
    func passedNumber() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let client = try await ExampleClient(.python, port: relay.port)
      _ = try await client.add("/1")
      let first = try client.start("send")
      #expect(try await first.ending() == .exit(0))
      let gone = try await relay.device().post(["sequence": 3, "void": true])
      #expect(gone.status == 202, "\(gone)")
      let keys = try await client.add(all: Self.paths(2...4))
      let sending = try client.start("send")
      #expect(try await sending.ending() == .exit(0), "\(sending.errors)")
      #expect(sending.keys("taken").sorted() == keys.sorted())
      let received = try await upstream.received(count: 4)
      #expect(received.map(\.target).sorted() == Self.paths(1...4))
      // Each has the number of its place in the file, but for the one that was given up.
      let shown = try await relay.device().get("/v1/clients/device-1").json()
      let lane = try #require((shown["lanes"] as? [[String: Any]])?.first)
      #expect(lane["highestSequence"] as? Int ?? lane["lastSequence"] as? Int == 4, "\(lane)")
    }

    @Test("a file that is new goes on above the numbers that the lane had")
    func newFile() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      for number in [1, 2] {
        #expect(try await relay.device().post(["path": "/", "sequence": number]).status == 202)
      }
      let client = try await ExampleClient(.python, port: relay.port)
      _ = try await client.add("/new")
      let sending = try client.start("send")
      #expect(try await sending.ending() == .exit(0), "\(sending.errors)")
      let shown = try await relay.device().get("/v1/clients/device-1").json()
      let lane = try #require((shown["lanes"] as? [[String: Any]])?.first)
      #expect(lane["lastSequence"] as? Int == 3, "\(lane)")
    }

    @Test("what was refused is sent once a person has mended it", arguments: languages)
    func mended(language: ExampleLanguage) async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let client = try await ExampleClient(language, port: relay.port)
      let bad = try await client.add("bad", body: "[1]")
      let refusing = try client.start("send")
      #expect(try await refusing.ending() == .exit(1), "\(refusing.errors)")
      try await client.mend(bad, path: "bad", to: "/good")
      let sending = try client.start("send")
      #expect(try await sending.ending() == .exit(0), "\(sending.output)\(sending.errors)")
      let received = try await upstream.received(count: 1)
      #expect(received.map(\.target) == ["/good"])
      #expect(received.map(\.message.text) == ["[1]"])
      #expect(try await client.list().isEmpty)
    }

    @Test(
      "what a batch had no room for is sent after Retry-After, in its order", arguments: languages)
    func noRoom(language: ExampleLanguage) async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["clientWaitingEnvelopesMax": 3] as Body])
      let device = relay.device()
      _ = try await device.request("POST", "/v1/upstreams/default/pause")
      let (port, others, hasRoom) = (relay.port, Monitor(2), Monitor(false))
      let front = try TestUpstream { request in
        // The next check-in, and the second post, come once there is room, however slow the machine
        // is: a check-in that finds none has its device wait for longer than this test does.
        if others.read({ $0 == 0 }) { _ = hasRoom.block(seconds: 60) { $0 ? true : nil } }
        guard request.target == "/v1/envelopes" else { return .passed(request, to: port) }
        // Somebody else is quicker, twice: there is room for the first of the three.
        while let other = others.change({ $0 > 0 ? ($0, $0 -= 1).0 : nil }) {
          _ = Behaviour.passed(Self.post("/other/\(3 - other)"), to: port)
        }
        let answer = Behaviour.passed(request, to: port)
        guard case .answer(202, let fields, let body, _) = answer,
          fields.contains(where: { $0.name == "Retry-After" })
        else { return answer }
        let shorter = fields.filter { $0.name != "Retry-After" }
        return .answer(
          202, fields: shorter + [WireField(name: "Retry-After", value: "2")], body: body)
      }
      let client = try await ExampleClient(language, port: front.port)
      let keys = try await client.add(all: Self.paths(1...4))
      let sending = try client.start("send")
      try await sending.errors(hold: "no room for the rest; trying again in 2")
      // The two outputs come by two pipes.
      try await sending.output(holds: "waits \(keys[2])")
      #expect(sending.keys("taken") == [keys[0]])
      #expect(sending.keys("waits") == [keys[1], keys[2]])
      _ = try await device.request("POST", "/v1/upstreams/default/resume")
      try await eventually("room for the rest") {
        let client = try await device.get("/v1/clients/device-1").json()
        return client["waiting"] as? Int == 0 ? true : nil
      }
      hasRoom.change { $0 = true }
      #expect(try await sending.ending(seconds: 60) == .exit(0), "\(sending.errors)")
      #expect(sending.keys("taken") == keys)
      try await Self.delivered(keys[3], device)
      #expect(upstream.received.map(\.target) == ["/other/1", "/other/2"] + Self.paths(1...4))
    }

    @Test(
      "only the relay's own answer counts, and a post that is too large is split",
      arguments: languages)
    func strangeAnswers(language: ExampleLanguage) async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let (port, posts) = (relay.port, Monitor(0))
      let front = try TestUpstream { request in
        guard request.target == "/v1/envelopes" else { return .passed(request, to: port) }
        let lineCount = request.body.count { $0 == UInt8(ascii: "\n") }
        if posts.change({ ($0, $0 += 1).0 }) == 0 {
          return .answer(200, body: Array("<html>Welcome to our network</html>".utf8))
        }
        return lineCount > 1 ? .problem(413, "batch-too-large") : .passed(request, to: port)
      }
      let client = try await ExampleClient(language, port: front.port)
      let keys = try await client.add(all: Self.paths(1...3))
      let sending = try client.start("send")
      #expect(try await sending.ending() == .exit(0), "\(sending.errors)")
      #expect(sending.keys("taken") == keys)
      try await Self.delivered(keys[2], relay.device())
      #expect(upstream.received.map(\.target) == Self.paths(1...3))
    }

    @Test("a device that the relay does not know keeps all, and says so", arguments: languages)
    func unknownDevice(language: ExampleLanguage) async throws {
      let front = try TestUpstream { _ in .problem(401, "unauthenticated") }
      let client = try await ExampleClient(language, port: front.port, token: "wst_1.2")
      let key = try await client.add("/1")
      let sending = try client.start("send")
      #expect(try await sending.ending() == .exit(2))
      #expect(sending.errors.contains("unauthenticated") || sending.errors.contains("401"))
      #expect(front.received.map { $0["Authorization"] } == ["Bearer wst_1.2"])
      #expect(try await client.list().map { Array($0.prefix(2)) } == [["waiting", key]])
    }

    private static let languages = ExampleLanguage.allCases

    private struct Held {
      var isHeld = false
      var ending: Ending?
    }

    /// A front that passes all calls on but one.
    ///
    /// It holds that one before it is made in even steps, and its answer in odd ones.
    private static func holding(
      _ step: Int, _ port: UInt16, _ held: Monitor<Held>
    ) -> @Sendable (WireRequest) -> Behaviour {
      let calls = Monitor(0)
      return { request in
        let isHeld = calls.change { ($0, $0 += 1).0 } == step / 2
        let answer = isHeld && step.isMultiple(of: 2) ? .never : Behaviour.passed(request, to: port)
        guard isHeld else { return answer }
        held.change { $0.isHeld = true }
        return .never
      }
    }

    private static func paths(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "/\($0)" } }

    private static func post(_ path: String) -> WireRequest {
      let body = Array(#"{"client":"device-1","path":"\#(path)"}"#.utf8)
      let type = WireField(name: "Content-Type", value: "application/json")
      let message = WireMessage(
        startLine: "POST /v1/envelopes HTTP/1.1", fields: [type], body: body)
      guard let request = try? WireRequest(message) else { preconditionFailure("a request line") }
      return request
    }

    /// Waits until the envelope of a key was delivered.
    private static func delivered(_ key: String, _ device: Device) async throws {
      let known = try await device.get("/v1/clients/device-1/envelopes/\(key)").json()
      let id = try #require(known["id"] as? String, "\(known)")
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
    }
  }
}
