import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("At a quota")
  struct Quotas {
    private static func limits(_ limits: [String: any Sendable]) -> [String: any Sendable] {
      ["limits": limits]
    }

    /// What a client may still send, as its check-in says.
    private func allowance(
      _ relay: Relay, _ client: String = "device-1"
    ) async throws -> (envelopes: Int, bytes: Int) {
      let answer = try await relay.device(client).request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(["client": client]))
      let may = try #require(try answer.json()["maySend"] as? [String: Int])
      return (try #require(may["envelopes"]), try #require(may["bytes"]))
    }

    @Test("a client whose bytes are used up gets 429 and the quota's name, and its neighbours 202")
    func bytes() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream,
        more: [
          "limits": ["clientWaitingBytesMax": 5000] as [String: any Sendable],
          "clients": ["rich-*": ["waitingBytesMax": 100_000] as [String: any Sendable]]
            as [String: any Sendable],
        ])
      let body = [UInt8](repeating: 120, count: 2000)
      for _ in 0..<2 {
        #expect(try await relay.device().relay("POST", "/", body: body).status == 202)
      }
      let full = try await relay.device().relay("POST", "/", body: body)
      #expect(full.status == 429 && full.problem == "client-queue-full")
      #expect(try full.json()["limit"] as? String == "clientWaitingBytes")
      #expect(try full.json()["max"] as? Int == 5000)
      #expect((1...360).contains(Int(full["Retry-After"] ?? "") ?? 0))
      // What comes in chunks is known to be too much only once it is there.
      let chunks =
        "POST /v1/relay/default/c HTTP/1.1\r\nHost: r\r\nWaystation-Client: device-1\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n7d0\r\n" + String(repeating: "x", count: 2000)
        + "\r\n0\r\n\r\n"
      #expect(try await relay.device().raw(Array(chunks.utf8)).status == 429)
      #expect(try await relay.device().post(["path": "/small"]).status == 202)
      for name in ["neighbour", "rich-1"] {
        #expect(try await relay.device(name).relay("POST", "/", body: body).status == 202)
      }
      for _ in 0..<3 {
        #expect(try await relay.device("rich-1").relay("POST", "/", body: body).status == 202)
      }
    }

    @Test("a correction may not make an envelope larger than there is room for")
    func correction() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: Self.limits(["clientWaitingBytesMax": 500]))
      let device = relay.device()
      let id = try #require(
        try await device.post(["path": "/", "hold": true]).json()["id"] as? String)
      let merge = ["Content-Type": "application/merge-patch+json"]
      let grown = try await device.request(
        "PATCH", "/v1/envelopes/\(id)", headers: merge,
        body: Device.json(["body": String(repeating: "x", count: 600)]))
      #expect(grown.status == 429 && grown.problem == "client-queue-full")
      let fits = try await device.request(
        "PATCH", "/v1/envelopes/\(id)", headers: merge,
        body: Device.json(["body": String(repeating: "x", count: 300)]))
      #expect(fits.status == 200)
      let more = try await device.post(["path": "/", "body": String(repeating: "y", count: 300)])
      #expect(more.status == 429)
    }

    @Test("a batch is taken as far as there is room, item by item")
    func batch() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream, more: Self.limits(["clientWaitingEnvelopesMax": 3]))
      let device = relay.device()
      let items: [[String: any Sendable]] =
        (0..<4).map { ["path": "/\($0)"] } + [["path": "/n", "client": "neighbour"]]
      let json = try Device.json(
        items.map { $0.merging(["client": "device-1"]) { given, _ in given } })
      let results = try #require(
        try await device.post(json: json).json()["results"] as? [[String: Any]])
      #expect(
        results.map { $0["result"] as? String }
          == ["accepted", "accepted", "accepted", "rejected", "accepted"])
      let problem = try #require(results[3]["problem"] as? [String: Any])
      #expect(problem["limit"] as? String == "clientWaitingEnvelopes")
      let none = try await device.post(batch: [["path": "/5"], ["path": "/6"]])
      #expect(none.status == 429 && none["Retry-After"] != nil)
    }

    @Test("what stands behind an item without room in its lane is sent away with it")
    func batchOrder() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream, more: Self.limits(["clientWaitingBytesMax": 2000]))
      let large = String(repeating: "x", count: 3000)
      let batch = try await relay.device().post(batch: [
        ["path": "/1"], ["path": "/2", "body": large], ["path": "/3"],
        ["path": "/4", "lane": "other"], ["path": "/5", "client": "neighbour"],
      ])
      let results = try #require(try batch.json()["results"] as? [[String: Any]])
      #expect(
        results.map { $0["result"] as? String }
          == ["accepted", "rejected", "rejected", "accepted", "accepted"])
      let problems = results.compactMap { $0["problem"] as? [String: Any] }
      #expect(problems.map { $0["status"] as? Int } == [429, 429])
    }

    @Test(
      "a client that asks too often is told when it may again, and its neighbours do not notice")
    func rate() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream,
        more: Self.limits(["clientRequestsPerSecondMax": 0.01, "clientRequestBurst": 3]))
      let device = relay.device()
      for _ in 0..<2 { #expect(try await device.post(["path": "/"]).status == 202) }
      #expect(try await device.get("/v1/clients/device-1").status == 200)
      let over = try await device.post(["path": "/"])
      #expect(over.status == 429 && over.problem == "rate-limited")
      #expect(try over.json()["limit"] as? String == "clientRequestsPerSecond")
      #expect((90...100).contains(Int(over["Retry-After"] ?? "") ?? 0))
      #expect(try await device.get("/v1/clients/device-1").status == 429)
      // Before the body is read: none of it was sent.
      let head =
        "POST /v1/relay/default/ HTTP/1.1\r\nHost: r\r\nWaystation-Client: device-1\r\n"
        + "Content-Length: 1000000\r\n\r\n"
      #expect(try await relay.device().raw(Array(head.utf8)).status == 429)
      #expect(try await relay.device("neighbour").post(["path": "/"]).status == 202)
      let both = try Device.json([
        ["client": "device-1", "path": "/"], ["client": "third", "path": "/"],
      ])
      let results = try #require(
        try await device.post(json: both).json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["rejected", "accepted"])
    }

    @Test("all together may ask so often, and health and status are answered all the same")
    func rateOfAll() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: Self.limits(["requestsPerSecondMax": 0.01, "requestBurst": 2]))
      for name in ["a", "b"] {
        #expect(try await relay.device(name).post(["path": "/"]).status == 202)
      }
      let over = try await relay.device("c").post(["path": "/"])
      #expect(over.status == 429)
      #expect(try over.json()["limit"] as? String == "requestsPerSecond")
      for path in ["/healthz", "/readyz", "/status"] {
        #expect(try await relay.device().get(path).status == 200)
      }
    }

    /// Envelopes that come to wait in every way there is; seven of them.
    private func fill(_ device: Device, _ upstream: TestUpstream) async throws {
      let held = try #require(
        try await device.post(["path": "/held", "hold": true, "body": "12345"]).json()["id"]
          as? String)
      // In a file of its own.
      let large = [UInt8](repeating: 120, count: 5000)
      for lane in ["a", "b"] {
        let fields = ["Waystation-Hold": "true", "Waystation-Lane": lane]
        let answer = try await device.relay("POST", "/large", headers: fields, body: large)
        #expect(answer.status == 202)
      }
      // Parked ahead of a gap, coalesced, corrected.
      for number in [3, 5] { try await post(number, device) }
      for text in ["short", "a good deal longer than that"] {
        _ = try await device.post([
          "path": "/state", "lane": "d", "coalesce": "state", "hold": true, "body": text,
        ])
      }
      _ = try await device.request(
        "PATCH", "/v1/envelopes/\(held)",
        headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(["body": String(repeating: "z", count: 2500)]))
      // Refused upstream, and back in line.
      let posted = try await device.post(["path": "/dead", "lane": "c", "body": "dead"])
      let dead = try #require(try posted.json()["id"] as? String)
      #expect(try await device.end(of: dead)["state"] as? String == "failed")
      upstream.behave { _ in .never }
      let again = try await device.request(
        "POST", "/v1/envelopes/\(dead)/requeue", headers: ["Content-Type": "application/json"],
        body: Device.json([String: String]()))
      #expect(again.status == 200)
    }

    private func post(_ number: Int, _ device: Device) async throws {
      let answer = try await device.post([
        "path": "/\(number)", "lane": "numbers", "sequence": number, "hold": true,
      ])
      #expect(answer.status == 202)
    }

    @Test("what waits is counted to the byte, through every change of it and over SIGKILL")
    func exact() async throws {
      let upstream = try TestUpstream { _ in .answer(422) }
      let (envelopesMax, bytesMax) = (1000, 10_000_000)
      let relay = try await Relay.started(
        upstream,
        more: Self.limits([
          "clientWaitingEnvelopesMax": envelopesMax, "clientWaitingBytesMax": bytesMax,
          "spoolThresholdBytes": 1000,
        ]))
      try await fill(relay.device(), upstream)
      let before = try await allowance(relay)
      #expect(before.envelopes == envelopesMax - 7)
      let status = try await relay.device().get("/status").json()
      let store = try #require(status["store"] as? [String: Any])
      #expect(store["waitingBytes"] as? Int == bytesMax - before.bytes)

      try await relay.kill()
      try await relay.start()
      let after = try await allowance(relay)
      #expect(after.envelopes == before.envelopes && after.bytes == before.bytes)
      // The gap closes: what was parked moves, and counts as it did.
      for number in [1, 2, 4] { try await post(number, relay.device()) }
      #expect(try await allowance(relay).envelopes == before.envelopes - 3)
      let bytes = try await allowance(relay).bytes
      try await relay.kill()
      try await relay.start()
      #expect(try await allowance(relay).bytes == bytes)
      // Once nothing waits, nothing counts.
      upstream.stop()
      try await eventually("an empty backlog") {
        _ = try await relay.device().request("DELETE", "/v1/clients/device-1/envelopes")
        return try await allowance(relay).envelopes == envelopesMax ? true : nil
      }
      #expect(try await allowance(relay).bytes == bytesMax)
    }
  }
}
