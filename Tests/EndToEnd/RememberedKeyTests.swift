import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Keys that are remembered longer than their envelopes")
  struct RememberedKeys {
    private func configure(
      _ relay: Relay, _ upstream: TestUpstream, keySeconds: Int
    ) throws {
      let retention: [String: any Sendable] = ["deliveredSeconds": 0, "keySeconds": keySeconds]
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["retention": retention, "log": ["level": "debug"]])
    }

    private func post(_ body: String) -> [String: any Sendable] {
      ["path": "/orders", "key": "order-1", "body": body]
    }

    /// Looks that a repeat is told to be one, alone and in a batch, and other content refused.
    private func expectRemembered(_ relay: Relay) async throws {
      let device = relay.device()
      let alone = try await device.post(post("first"))
      let answer = try alone.json()
      #expect(alone.status == 202 && answer["result"] as? String == "duplicate")
      #expect(answer["key"] as? String == "order-1")
      #expect(answer["id"] == nil && answer["state"] == nil && alone["Location"] == nil)
      let batch = try await device.post(batch: [post("first"), post("other")]).json()
      let results = try #require(batch["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["duplicate", "rejected"])
      #expect(results[0]["id"] == nil && results[0]["state"] == nil)
      let other = try await device.post(post("other"))
      #expect(other.status == 422 && other.problem == "key-conflict")
      #expect(try other.json()["id"] == nil)
      // An upload is told before its body has come.
      let upload = try await Uploader(relay).creation(
        "/orders", ["Idempotency-Key": "order-1"], body: [1, 2, 3])
      #expect(upload.status == 422 && upload.problem == "key-conflict", "\(upload)")
      #expect(try upload["Location"] == nil && upload.json()["id"] == nil)
      let asked = try await device.get("/v1/clients/device-1/envelopes/order-1")
      #expect(asked.status == 404)
    }

    @Test("a device that comes back late delivers nothing twice, until its key is forgotten")
    func late() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let first = try await relay.device().post(post("first"))
      let id = try #require(try first.json()["id"] as? String)
      #expect(try await relay.device().end(of: id)["state"] as? String == "delivered")
      try await relay.kill()
      try configure(relay, upstream, keySeconds: 3600)
      try await relay.start()
      try await eventually("an end of \(id)") {
        try await relay.device().get("/v1/envelopes/\(id)").status == 404 ? true : nil
      }
      try await expectRemembered(relay)
      // What was remembered is on the disk.
      try await relay.kill()
      try await relay.start()
      try await expectRemembered(relay)
      try configure(relay, upstream, keySeconds: 0)
      relay.signal(SIGHUP)
      try await relay.log(holds: "keys were forgotten")
      let again = try await relay.device().post(post("other"))
      #expect(try again.json()["result"] as? String == "accepted")
      let received = try await upstream.received(count: 2)
      #expect(received.map { String(decoding: $0.body, as: UTF8.self) } == ["first", "other"])
    }
  }
}
