import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Renewing a token", .serialized)
  struct Renewal {
    /// How a client is told of its token.
    private struct Renewed: Equatable {
      let id: String
      let token: String
      let expiresAt: Date
    }

    private static var format: ISO8601DateFormatter {
      let format = ISO8601DateFormatter()
      format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
      return format
    }

    private static func text(_ hours: Double) -> String {
      format.string(from: Date().addingTimeInterval(hours * 3600))
    }

    private func ask(_ token: String, _ relay: Relay) async throws -> WireResponse {
      try await relay.device("d", token: token).request("POST", "/v1/token/renew")
    }

    private func renew(_ token: String, _ relay: Relay) async throws -> Renewed {
      let answer = try await ask(token, relay)
      try #require(answer.status == 200, "\(answer)")
      #expect(answer["Cache-Control"] == "no-store")
      let json = try answer.json()
      #expect(json["client"] as? String == "till-1" && json["renewableUntil"] is String)
      return Renewed(
        id: try #require(json["id"] as? String), token: try #require(json["token"] as? String),
        expiresAt: try date(json["expiresAt"]))
    }

    private func date(_ value: Any?) throws -> Date {
      let text = try #require(value as? String)
      return try #require(Self.format.date(from: text))
    }

    /// What a check-in says: 401, or the answer.
    private func checkIn(_ token: String, _ relay: Relay) async throws -> [String: Any] {
      let answer = try await relay.device("till-1", token: token).request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Array("{}".utf8))
      return answer.status == 200 ? try answer.json() : ["status": answer.status]
    }

    /// Which of some tokens are good.
    private func good(_ tokens: [String], _ relay: Relay) async throws -> [Bool] {
      var good: [Bool] = []
      for token in tokens {
        let device = relay.device("till-1", token: token)
        let posted = try await device.post(["path": "/x"])
        #expect([202, 401].contains(posted.status), "\(posted)")
        good.append(posted.status == 202)
      }
      return good
    }

    /// One that tells callers apart, with a clock that a test can set.
    private func timed(_ clock: FakeClock) async throws -> Relay {
      let more = Credentials.configuration.merging(["clock": ["settleSeconds": 0]]) { $1 }
      let relay = try Relay(
        upstreams: ["default": Relay.quick(try TestUpstream())], more: more,
        environment: clock.environment)
      try await relay.start()
      return relay
    }

    @Test("gives another one that goes further, and the former one stays good meanwhile")
    func life() async throws {
      // One token fills the table: renewals need no room.
      var access = try #require(Credentials.configuration["access"] as? [String: any Sendable])
      access["tokensMax"] = 1
      let relay = try await Relay.started(try TestUpstream(), more: ["access": access])
      let end = Self.text(24)
      let (id, first) = try await relay.token([
        "client": "till-1", "label": "spare", "expiresAt": end, "renewableUntil": Self.text(240),
      ])
      let second = try await renew(first, relay)
      let firstEnd = try date(end)
      #expect(second.id == id && second.token != first && second.expiresAt >= firstEnd)
      #expect(second.expiresAt < firstEnd.addingTimeInterval(3600))
      #expect(try await good([first, second.token], relay) == [true, true])
      for (token, end) in [(first, firstEnd), (second.token, second.expiresAt)] {
        let answer = try await checkIn(token, relay)
        #expect(try date(answer["credentialEndsAt"]) == end)
        #expect(answer["credentialRenewableUntil"] is String)
      }
      // Its answer was lost: it asks again, and nothing is made anew, also after a kill.
      #expect(try await renew(first, relay) == second)
      try await relay.kill()
      try await relay.start()
      #expect(try await renew(first, relay) == second)
      #expect(try await good([first, second.token], relay) == [true, true])
      let third = try await renew(second.token, relay)
      #expect(try await good([first, second.token, third.token], relay) == [false, true, true])
      #expect(try await ask(first, relay).status == 401)
      let list = try await relay.reading.get("/v1/tokens").json()
      let tokens = try #require(list["tokens"] as? [[String: Any]])
      #expect(tokens.count == 1 && tokens[0]["renewedAt"] is String)
      #expect(tokens[0]["label"] as? String == "spare")
      #expect(try date(tokens[0]["expiresAt"]) == third.expiresAt)
      #expect(relay.log.contains("a token was renewed"))
    }

    @Test("is for a client's own token, which an operator is told")
    func operators() async throws {
      let relay = try await Relay.started(try TestUpstream(), more: Credentials.configuration)
      let answer = try await ask(Credentials.steer, relay)
      #expect(answer.status == 403 && answer.problem == "forbidden", "\(answer.text)")
      let fix = try #require(try answer.json()["fix"] as? String)
      #expect(fix.contains("a client's own token") && !fix.contains("role"), "\(fix)")
    }

    @Test("is logged once, and by the number of its repeats, if one token is renewed all the time")
    func logged() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let (id, first) = try await relay.token([
        "client": "till-1", "expiresAt": Self.text(24), "renewableUntil": Self.text(240),
      ])
      var token = first
      for _ in 0..<50 { token = try await renew(token, relay).token }
      relay.signal(SIGTERM)
      try await relay.ending()
      let lines = relay.log.split(separator: "\n").filter { $0.contains("a token was renewed") }
      #expect((2...5).contains(lines.count), "\(lines)")
      #expect(lines.allSatisfy { $0.contains(id) } && !lines[0].contains("repeated"))
      #expect(lines.last?.contains("repeated") == true)
    }

    @Test("ends with the revocation of the token, the former one and the new one, for good")
    func revoked() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let (id, first) = try await relay.token([
        "client": "till-1", "expiresAt": Self.text(24), "renewableUntil": Self.text(240),
      ])
      let second = try await renew(first, relay).token
      let listener = try await Listener(relay, token: second)
      try await listener.first("snapshot")
      try await relay.steering.request("DELETE", "/v1/tokens/\(id)").require(204)
      try await listener.over()
      for _ in 0..<2 {
        #expect(try await good([first, second], relay) == [false, false])
        for token in [first, second] { #expect(try await ask(token, relay).status == 401) }
        try await relay.kill()
        try await relay.start()
      }
    }

    @Test("goes no further than the operator has allowed, and each token ends when it said")
    func limit() async throws {
      let clock = try FakeClock()
      let relay = try await timed(clock)
      let limit = Self.text(60)
      let (_, first) = try await relay.token([
        "client": "till-1", "expiresAt": Self.text(24), "renewableUntil": limit,
      ])
      try clock.set(ahead: 20 * 3600)
      let second = try await renew(first, relay)
      try clock.set(ahead: 25 * 3600)
      #expect(try await good([first, second.token], relay) == [false, true])
      #expect(try await ask(first, relay).status == 401)
      try clock.set(ahead: 40 * 3600)
      let third = try await renew(second.token, relay)
      #expect(third.expiresAt == (try date(limit)))
      let refused = try await ask(third.token, relay)
      #expect(refused.status == 409 && refused.problem == "not-renewable", "\(refused)")
      #expect(refused.text.contains("Ask the operator"))
      let answer = try await checkIn(third.token, relay)
      #expect(try date(answer["credentialEndsAt"]) == third.expiresAt)
      #expect(answer["credentialRenewableUntil"] == nil)
      // Whoever has not seen that last answer still gets it.
      #expect(try await renew(second.token, relay) == third)
      try clock.set(ahead: 61 * 3600)
      #expect(try await good([second.token, third.token], relay) == [false, false])
    }

    @Test("is refused with what to do where nobody has allowed it, or there is nothing to renew")
    func refused() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let ending = try await relay.token(["client": "till-1", "expiresAt": Self.text(24)]).text
      let endless = try await relay.token(["client": "till-1"]).text
      for (token, words) in [
        (ending, "renewableUntil"), (endless, "does not end"),
        (Credentials.derived("truck-7"), "wsk_"),
      ] {
        let answer = try await ask(token, relay)
        #expect(answer.status == 409 && answer.problem == "not-renewable", "\(answer)")
        #expect(answer.text.contains(words) && answer.text.contains("fix"), "\(answer)")
      }
      let reader = try await relay.token(["role": "read", "expiresAt": Self.text(24)]).text
      for token in [reader, Credentials.steer] {
        #expect(try await ask(token, relay).status == 403)
      }
      #expect(try await relay.device().request("POST", "/v1/token/renew").status == 401)
      let made = try await relay.steering.request(
        "POST", "/v1/tokens", headers: ["Content-Type": "application/json"],
        body: Device.json([
          "role": "read", "expiresAt": Self.text(1), "renewableUntil": Self.text(2),
        ]))
      #expect(made.status == 422 && made.problem == "invalid-field", "\(made)")
      #expect(try await good([ending, endless], relay) == [true, true])
    }

    @Test("many at once with the same token give the same one")
    func together() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let (_, first) = try await relay.token([
        "client": "till-1", "expiresAt": Self.text(24), "renewableUntil": Self.text(240),
      ])
      let tokens = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<16 { group.addTask { try await renew(first, relay).token } }
        return try await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(tokens.count == 1)
      #expect(try await good([first] + tokens, relay) == [true, true])
    }
  }
}
