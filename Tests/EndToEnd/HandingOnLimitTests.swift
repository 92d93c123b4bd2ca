import Foundation
import Testing

extension EndToEnd {
  /// What one relay accepts is what the next one accepts, whatever handing on adds to it.
  @Suite("Envelopes at the limits that are handed on to another relay", .serialized, .ofNoStore)
  struct HandingOnLimits {
    private typealias Body = [String: any Sendable]

    /// A relay that hands on to a second one, whose upstream is this.
    private static func chain(to upstream: TestUpstream) async throws -> (first: Relay, last: Relay)
    {
      let last = try await Relay.started(upstream)
      return (try await relay(to: last), last)
    }

    private static func relay(to next: Relay, token: String? = nil) async throws -> Relay {
      var settings: Body = [
        "url": "http://127.0.0.1:\(next.port)", "batch": ["format": "waystation"] as Body,
        "retry": ["firstDelayMs": 20, "maxDelayMs": 200] as Body,
        "reachability": ["firstProbeDelayMs": 20, "maxProbeDelayMs": 200] as Body,
      ]
      if let token { settings["credentials"] = ["kind": "bearer", "token": token] as Body }
      let relay = try Relay(upstreams: ["default": settings])
      try await relay.start()
      return relay
    }

    /// Waits for the one request at the end, while both relays run.
    private static func arrival(
      at upstream: TestUpstream, through chain: (first: Relay, last: Relay)
    ) async throws -> WireRequest {
      defer { withExtendedLifetime(chain) {} }
      return try await upstream.received(count: 1)[0]
    }

    /// Text that has a request of its own.
    private static let large = String(repeating: "x", count: 400_000)

    @Test(
      "JSON that is nested as deep as it may be arrives, though the post around it nests it more")
    func nested() async throws {
      let upstream = try TestUpstream()
      let chain = try await Self.chain(to: upstream)
      let depth = 512
      let body = Array(
        (String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
      try await chain.first.device("a").relay(
        "POST", "/deep", headers: ["Content-Type": "application/json"], body: body
      ).require(202)
      #expect(try await Self.arrival(at: upstream, through: chain).body == body)
    }

    @Test("the longest path that there may be arrives with a large body, and with a small one")
    func longPath() async throws {
      for body in [Self.large, "x"] {
        let upstream = try TestUpstream()
        let chain = try await Self.chain(to: upstream)
        let path = "/" + String(repeating: "a", count: 8191)
        try await chain.first.device("a").post(["path": path, "body": body]).require(202)
        #expect(try await Self.arrival(at: upstream, through: chain).target == path)
      }
    }

    @Test(
      "as many header fields as there may be arrive with a large body, and with a small one",
      arguments: [(100, 10), (10, 3260)])
    func manyFields(count: Int, bytes: Int) async throws {
      for body in [Self.large, "x"] {
        let upstream = try TestUpstream()
        let chain = try await Self.chain(to: upstream)
        let value = String(repeating: "v", count: bytes)
        let fields = Dictionary(uniqueKeysWithValues: (0..<count).map { ("X-\($0)", value) })
        try await chain.first.device("a").post(
          ["path": "/", "body": body, "headers": fields]
        ).require(202)
        let request = try await Self.arrival(at: upstream, through: chain)
        #expect(fields.keys.allSatisfy { request[$0] == value })
      }
    }

    @Test("a request with more header fields of its own than an envelope may have is refused")
    func tooManyFields() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device("a")
      for (count, bytes) in [(101, 1), (10, 3280)] {
        let value = String(repeating: "v", count: bytes)
        let fields = Dictionary(uniqueKeysWithValues: (0..<count).map { ("X-\($0)", value) })
        let refused = try await device.relay("GET", "/", headers: fields)
        #expect(refused.status == 431 && refused.problem == "header-fields-too-large")
      }
    }

    @Test(
      "what the next relay would take for itself arrives with a large body, as with a small one",
      arguments: [400_000, 10], [true, false])
    func ownFields(bodyBytes: Int, isGuarded: Bool) async throws {
      let upstream = try TestUpstream()
      let last = try await isGuarded ? Relay.guarded(upstream) : Relay.started(upstream)
      let first = try await Self.relay(to: last, token: isGuarded ? Credentials.steer : nil)
      let fields = [
        "Origin": "https://app.example.com", "Sec-Fetch-Site": "cross-site",
        "Prefer": "wait=5, return=minimal", "Authorization": "Bearer of-the-app",
      ]
      let text = String(repeating: "x", count: bodyBytes)
      try await first.device("a").post(
        ["path": "/", "body": text, "headers": fields]
      ).require(202)
      let request = try await Self.arrival(at: upstream, through: (first, last))
      for (name, value) in fields { #expect(request[name] == value, "\(name)") }
    }
  }
}
