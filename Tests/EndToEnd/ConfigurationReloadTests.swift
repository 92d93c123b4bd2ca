import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Another configuration without a restart", .serialized)
  struct ConfigurationReload {
    /// Sends a SIGHUP, and waits until `/status` tells what came of it.
    @discardableResult
    private func reload(_ relay: Relay, by device: Device? = nil) async throws -> [String: Any] {
      let device = device ?? relay.device("operator")
      let before = try await standing(device)
      relay.signal(SIGHUP)
      return try await eventually("what came of a reload") {
        let now = try await standing(device)
        return lastReload(now)["at"] as? String == lastReload(before)["at"] as? String ? nil : now
      }
    }

    private func standing(_ device: Device) async throws -> [String: Any] {
      let answer = try await device.get("/status")
      try answer.require(200)
      let status = try answer.json()
      return try #require(status["configuration"] as? [String: Any])
    }

    private func lastReload(_ standing: [String: Any]) -> [String: Any] {
      standing["lastReload"] as? [String: Any] ?? [:]
    }

    private func result(_ standing: [String: Any]) -> String? {
      lastReload(standing)["result"] as? String
    }

    private func problems(_ standing: [String: Any]) -> [String] {
      lastReload(standing)["problems"] as? [String] ?? []
    }

    @Test("a connection and an attempt go on over it; the next attempt goes where it says now")
    func upstream() async throws {
      let released = Monitor(false)
      let old = try TestUpstream { request in
        guard request.target == "/slow" else { return .answer(200) }
        return released.block(seconds: 20) { $0 ? true : nil } == true ? .answer(200) : .cut
      }
      let new = try TestUpstream()
      let relay = try await Relay.started(
        old, upstreamMore: ["headers": ["X-Key": "old"], "maxConcurrent": 1])
      let kept = try Connection(port: relay.port)
      #expect(try await ask(kept).status == 200)
      let device = relay.device()
      let slow = try #require(try await device.post(["path": "/slow"]).json()["id"] as? String)
      let next = try #require(try await device.post(["path": "/next"]).json()["id"] as? String)
      try await old.received(count: 1)
      try relay.configure(
        upstreams: ["default": Relay.quick(new, ["headers": ["X-Key": "new"]])])
      let standing = try await reload(relay)
      #expect(result(standing) == "applied" && standing["generation"] as? Int == 2)
      try await relay.log(holds: #""changed":"upstreams.default""#)
      #expect(try await ask(kept).status == 200)
      // Ten at once now, and yet the lane stands until its head has ended where it was begun.
      let other = try await relay.device("another").relay(
        "GET", "/other", headers: ["Prefer": "wait=20"])
      #expect(other.status == 200)
      released.change { $0 = true }
      for id in [slow, next] {
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
      #expect(old.received.map(\.target) == ["/slow"])
      #expect(old.received.first?["X-Key"] == "old")
      #expect(new.received.map(\.target) == ["/other", "/next"])
      #expect(new.received.allSatisfy { $0["X-Key"] == "new" })
      let story = try await device.get("/v1/envelopes/\(slow)").json()
      #expect((story["attempts"] as? [Any])?.count == 1, "\(story)")
    }

    private func ask(_ connection: Connection) async throws -> WireResponse {
      try await onThread {
        try connection.write(Array("GET /healthz HTTP/1.1\r\nHost: relay\r\n\r\n".utf8))
        return try connection.readResponse(to: "GET")
      }
    }

    @Test("a bad one is refused as a whole, by name and with what to do; the old one goes on")
    func bad() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let begun = try await standing(device)
      let sha256 = try #require(begun["sha256"] as? String)
      #expect(begun["generation"] as? Int == 1 && begun["lastReload"] == nil)
      #expect((begun["path"] as? String)?.hasSuffix("/config.json") == true)
      let elsewhere = try TestUpstream()
      let default_ = ["default": Relay.quick(elsewhere)]
      let bads: [([String: any Sendable], String)] = [
        (["limits": ["bodyBytesMax": "10 MB"]], "limits.bodyBytesMax: expected a whole number"),
        (["retention": ["failedSecond": 1]], "retention.failedSecond: unknown key; did you mean"),
        (["data": relay.folder.path + "/other"], "data: the store is opened once, at the start"),
        (["lanes": ["live": ["order": "latest"]]], "lanes: envelopes wait in the order"),
        (["clock": ["settleSeconds": 1]], "clock: "),
        (
          ["tracing": ["certificateAuthorities": "/nowhere/ca.pem"]],
          "tracing.certificateAuthorities: /nowhere/ca.pem: cannot be read"
        ),
      ]
      for (more, words) in bads {
        try relay.configure(upstreams: default_, more: more)
        let standing = try await reload(relay)
        #expect(result(standing) == "refused")
        #expect(problems(standing).first?.hasPrefix(words) == true, "\(standing)")
        try await relay.log(holds: "\"problem\":\"\(words)")
      }
      try FileManager.default.removeItem(atPath: relay.folder.path + "/config.json")
      let gone = try await reload(relay)
      #expect(problems(gone).first?.contains("cannot be read: No such file") == true)
      #expect(gone["generation"] as? Int == 1 && gone["sha256"] as? String == sha256)
      #expect(try await device.relay("GET", "/x", headers: ["Prefer": "wait=20"]).status == 200)
      #expect(upstream.received.map(\.target) == ["/x"] && elsewhere.received.isEmpty)
      // Nothing of a refused one is left for a good one to stumble over.
      try relay.configure(upstreams: default_)
      let good = try await reload(relay)
      #expect(result(good) == "applied" && problems(good).isEmpty)
      #expect(good["sha256"] as? String != sha256)
      #expect(result(try await reload(relay)) == "unchanged")
      #expect(try await device.relay("GET", "/y", headers: ["Prefer": "wait=20"]).status == 200)
      #expect(elsewhere.received.map(\.target) == ["/y"])
    }

    @Test("one that leads away from an upstream that hangs is followed at once by all others")
    func hanging() async throws {
      let stuck = try TestUpstream { _ in .never }
      let good = try TestUpstream()
      let settings: [String: any Sendable] = ["maxConcurrent": 2, "attemptTimeoutMs": 600_000]
      let relay = try Relay(upstreams: ["default": Relay.quick(stuck, settings)])
      try await relay.start()
      let device = relay.device()
      let posts = (0..<5).map { ["path": "/\($0)", "lane": "l-\($0)"] as [String: any Sendable] }
      #expect(try await device.post(batch: posts).status == 202)
      let begun = Set(try await stuck.received(count: 2).map(\.target))
      try relay.configure(upstreams: ["default": Relay.quick(good, settings)])
      try await reload(relay)
      let others = Set(try await good.received(count: 3).map(\.target))
      #expect(begun.union(others).count == 5 && begun.isDisjoint(with: others))
    }

    @Test("an upstream can be added and taken out; what waits for it stands until it is back")
    func removal() async throws {
      let kept = try TestUpstream()
      let other = try TestUpstream()
      other.stop()
      let both = ["default": Relay.quick(kept), "other": Relay.quick(other)]
      let relay = try Relay(upstreams: ["default": Relay.quick(kept)])
      try await relay.start()
      let device = relay.device()
      #expect(
        try await device.post(["path": "/", "upstream": "other"]).problem == "unknown-upstream")
      try relay.configure(upstreams: both)
      try await reload(relay)
      var ids: [String] = []
      for path in ["/0", "/1"] {
        let answer = try await device.post(["path": path, "upstream": "other"])
        ids.append(try #require(answer.json()["id"] as? String))
      }
      try relay.configure(upstreams: ["default": Relay.quick(kept)])
      try await reload(relay)
      #expect(
        try await device.post(["path": "/", "upstream": "other"]).problem == "unknown-upstream")
      let shown = try await device.get("/v1/upstreams").json()["upstreams"] as? [[String: Any]]
      let gone = try #require(shown?.first { $0["name"] as? String == "other" })
      #expect(gone["configured"] as? Bool == false && gone["waiting"] as? Int == 2)
      try other.start()
      #expect(
        try await relay.device("b").relay("GET", "/b", headers: ["Prefer": "wait=20"]).status
          == 200)
      #expect(other.received.isEmpty)
      try relay.configure(upstreams: both)
      try await reload(relay)
      for id in ids {
        #expect(try await device.end(of: id)["state"] as? String == "delivered")
      }
      #expect(other.received.map(\.target) == ["/0", "/1"])
    }

    @Test("limits, quotas, the log and credentials change; who is known no more is sent away")
    func rules() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let truck = relay.device("truck-7", token: Credentials.derived("truck-7"))
      let listeners = [
        try await Listener(relay, token: Credentials.read),
        try await Listener(relay, token: Credentials.derived("truck-7")),
      ]
      let staying = try await Listener(relay, token: Credentials.steer)
      let body = [UInt8](repeating: 0x61, count: 2000)
      #expect(try await truck.relay("POST", "/a", body: body).status == 202)
      var access = try #require(Credentials.configuration["access"] as? [String: any Sendable])
      access["operators"] = Credentials.operators.filter { $0.key == "steering" }
      access["clientKeys"] =
        ["fleet": ["secrets": String(repeating: "1e", count: 32), "clients": "truck-*"]]
        as [String: any Sendable]
      let more: [String: any Sendable] = [
        "access": access, "limits": ["bodyBytesMax": 1000, "clientRequestsPerSecondMax": 0.001],
        "log": ["level": "debug"],
      ]
      try relay.configure(upstreams: ["default": Relay.quick(upstream)], more: more)
      try await reload(relay, by: relay.steering)
      for listener in listeners { try await listener.over() }
      #expect(try await truck.get("/v1/clients/truck-7").status == 401)
      #expect(try await relay.reading.get("/status").status == 401)
      let renewed = relay.device(
        "truck-8",
        token: Credentials.derived("truck-8", secret: String(repeating: "1e", count: 32)))
      #expect(try await renewed.relay("POST", "/b", body: body).status == 413)
      #expect(try await renewed.relay("POST", "/b").problem == "rate-limited")
      #expect(try await relay.steering.post(["path": "/c"]).status == 202)
      try await relay.log(holds: "envelope was accepted")
      try await staying.events("the end of /c") { events in
        events.contains { $0.name == "delivered" }
      }
    }

    @Test("what is kept no longer is deleted at once, though a round has just been made")
    func retention() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let kept = try #require(try await device.post(["path": "/a"]).json()["id"] as? String)
      _ = try await device.end(of: kept)
      let held = try await device.post(["path": "/b", "hold": true])
      let brief = try #require(try held.json()["id"] as? String)
      #expect(try await device.request("DELETE", "/v1/envelopes/\(brief)").status == 200)
      try await relay.kill()
      func keep(_ seconds: [String: any Sendable]) throws {
        try relay.configure(
          upstreams: ["default": Relay.quick(upstream)], more: ["retention": seconds])
      }
      try keep(["failedSeconds": 0])
      try await relay.start()
      // The round that each start begins with; the next one would come a minute later.
      try await gone(brief, relay)
      #expect(try await relay.device().get("/v1/envelopes/\(kept)").status == 200)
      try keep(["deliveredSeconds": 0])
      #expect(result(try await reload(relay)) == "applied")
      try await gone(kept, relay)
    }

    private func gone(_ id: String, _ relay: Relay) async throws {
      try await eventually("an end of \(id)") {
        try await relay.device().get("/v1/envelopes/\(id)").status == 404 ? true : nil
      }
    }
  }
}
