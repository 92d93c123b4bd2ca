import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("What was begun with a token that ends", .serialized, .ofNoStore)
  struct EndedTokens {
    @Test("a revoked token ends its event streams and what is waited for with it")
    func streams() async throws {
      let upstream = try TestUpstream()
      // One wait for a client: a second one that is refused shows that the first has begun.
      let relay = try await Relay.guarded(
        upstream, more: ["limits": ["clientSharePercent": 1, "connectionsMax": 99]])
      let (id, token) = try await relay.token(["client": "till-1"])
      let device = relay.device("till-1", token: token)
      let posted = try await device.post(["path": "/x", "hold": true])
      let envelope = try #require(try posted.json()["id"] as? String)
      let listener = try await Listener(relay, token: token)
      let another = try await Listener(relay, token: Credentials.read)
      try await listener.first("snapshot")
      let waiting = try await WaitingRequest.begun(envelope, relay, token: token)
      try await relay.steering.request("DELETE", "/v1/tokens/\(id)").require(204)
      try await listener.over()
      // What was waited for comes about, and is not shown to who asked for it.
      try await relay.steering.request("POST", "/v1/clients/till-1/pause").require(200)
      try await another.first("paused")
      #expect(!listener.events.contains { $0.name == "paused" })
      try await relay.steering.request("DELETE", "/v1/envelopes/\(envelope)").require(200)
      let answer = try await waiting.answer()
      #expect(answer.status == 401 && answer.problem == "unauthenticated")
      // It was the wait that was refused at its end, and not the request at its beginning.
      #expect(answer.text.contains("was revoked"))
    }

    @Test("a token that ends by itself ends what was begun with it")
    func ends() async throws {
      let clock = try FakeClock()
      let upstream = try TestUpstream()
      let more = Credentials.configuration.merging([
        "clock": ["settleSeconds": 0],
        "limits": ["clientSharePercent": 1, "connectionsMax": 99] as [String: any Sendable],
      ]) { $1 }
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: more, environment: clock.environment)
      try await relay.start()
      let format = ISO8601DateFormatter()
      let end = format.string(from: Date().addingTimeInterval(86_400))
      let (_, token) = try await relay.token(["client": "till-1", "expiresAt": end])
      let (_, reader) = try await relay.token(["role": "read", "expiresAt": end])
      let device = relay.device("till-1", token: token)
      let posted = try await device.post(["path": "/x", "hold": true])
      let envelope = try #require(try posted.json()["id"] as? String)
      let streams = [
        try await Listener(relay, token: token), try await Listener(relay, token: reader),
      ]
      for stream in streams { try await stream.first("snapshot") }
      let another = try await Listener(relay, token: Credentials.read)
      try await another.first("snapshot")
      let waiting = try await WaitingRequest.begun(envelope, relay, token: token)
      try clock.set(ahead: 2 * FakeClock.day)
      try await relay.steering.request("POST", "/v1/clients/till-1/pause").require(200)
      try await another.first("paused")
      for stream in streams {
        try await stream.over()
        #expect(!stream.events.contains { $0.name == "paused" })
      }
      try await relay.steering.request("DELETE", "/v1/envelopes/\(envelope)").require(200)
      #expect(try await waiting.answer().status == 401)
    }

    @Test("an operator's token that is changed in the configuration ends what was begun with it")
    func changed() async throws {
      let upstream = try TestUpstream()
      let limits: [String: any Sendable] = ["peerSharePercent": 1, "connectionsPerPeerMax": 50]
      let relay = try await Relay.guarded(
        upstream, more: ["limits": limits.merging(["connectionsMax": 99]) { $1 }])
      let posted = try await relay.device("truck-7", token: Credentials.derived("truck-7"))
        .post(["path": "/x", "hold": true])
      let envelope = try #require(try posted.json()["id"] as? String)
      let other = try await Listener(relay, token: Credentials.steer)
      try await other.first("snapshot")
      let listener = try await Listener(relay, token: Credentials.read)
      try await listener.first("snapshot")
      let waiting = try await WaitingRequest.begun(envelope, relay, token: Credentials.read)
      var operators = Credentials.operators
      operators["reading"] = [
        "role": "read", "tokenSHA256": String(repeating: "ab", count: 32),
      ]
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)],
        more: [
          "limits": limits,
          "access": [
            "operators": operators,
            "clientKeys": ["fleet": ["secrets": Credentials.secret, "clients": "truck-*"]],
          ] as [String: any Sendable],
        ])
      relay.signal(SIGHUP)
      try await listener.over()
      try await relay.steering.request("POST", "/v1/clients/truck-7/pause").require(200)
      // The one that stayed as it was goes on.
      try await other.first("paused")
      #expect(!listener.events.contains { $0.name == "paused" })
      try await relay.steering.request("DELETE", "/v1/envelopes/\(envelope)").require(200)
      #expect(try await waiting.answer().status == 401)
      #expect(try await relay.reading.get("/status").status == 401)
    }
  }
}

/// A request that waits for an envelope, on a connection of its own.
private struct WaitingRequest {
  /// How long it waits at most, in seconds; a test ends the envelope long before.
  private static let seconds = 20

  private let connection: Connection

  /// Sends one, and returns once it waits: where its caller may have one wait, another one is
  /// refused then.
  static func begun(
    _ envelope: String, _ relay: Relay, token: String
  ) async throws -> WaitingRequest {
    let other = relay.device("other", token: token)
    for number in 0..<5 {
      let request = try WaitingRequest(envelope, relay, token: token)
      // The relay is to take it up first; on a busy machine that may need longer.
      _ = request.connection.hasInput(withinMs: 10 << number)
      for _ in 0..<2 {
        let answer = try await other.get("/v1/envelopes/\(envelope)?wait=1")
        if answer.status == 503 { return request }
      }
      // The other one was the first to wait, and this one was refused.
      try await request.answer().require(503)
    }
    throw StartFailure(description: "none of five requests came to wait")
  }

  private init(_ envelope: String, _ relay: Relay, token: String) throws {
    connection = try Connection(port: relay.port)
    let text =
      "GET /v1/envelopes/\(envelope)?wait=\(Self.seconds) HTTP/1.1\r\nHost: r\r\n"
      + "Authorization: Bearer \(token)\r\n\r\n"
    try connection.write(Array(text.utf8))
  }

  /// Its own answer.
  func answer() async throws -> WireResponse {
    try await onThread { [connection] in try connection.readResponse(to: "GET") }
  }
}
