import Foundation
import Testing

extension EndToEnd {
  @Suite("Forgetting a backlog", .serialized)
  struct Clearing {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    private func post(_ count: Int, _ more: [String: any Sendable]) async throws {
      let device = relay.device()
      for start in stride(from: 0, to: count, by: 500) {
        let batch = (start..<min(start + 500, count)).map { number -> [String: any Sendable] in
          more.merging(["path": "/\(number)", "lane": "l\(number % 7)"]) { _, given in given }
        }
        #expect(try await device.post(batch: batch).status == 202)
      }
    }

    private func waiting(_ client: String = "device-1") async throws -> Int? {
      try await relay.device().get("/v1/clients/\(client)").json()["waiting"] as? Int
    }

    @Test("cut off in the middle, all of it waits, or nothing does")
    func allOrNothing() async throws {
      for delayMs in [0, 2, 5, 10] {
        try await post(3000, ["hold": true])
        let before = try await waiting()
        let relay = relay
        async let answer = try? relay.device().request(
          "DELETE", "/v1/clients/device-1/envelopes")
        // The plug is pulled at any moment: what matters is that it may be in the middle.
        _ = try await onThread {
          Monitor(()).block(seconds: Double(delayMs) / 1000) { _ -> Bool? in nil }
        }
        try await relay.kill()
        let isAnswered = await answer?.status == 200
        try await relay.start()
        let after = try await waiting()
        #expect(after == 0 || (after == before && !isAnswered))
      }
    }

    @Test("the running one finishes, the rest is never sent, and what is posted then is")
    func finishes() async throws {
      upstream.behave { $0.target == "/slow" ? .answer(200, delayMs: 1500) : .answer(200) }
      let device = relay.device()
      let slow = try await device.post(["path": "/slow", "lane": "l0"]).json()
      try await upstream.received(count: 1)
      #expect(try await device.request("POST", "/v1/upstreams/default/pause").status == 200)
      try await post(2000, [:])
      let answer = try await device.request("DELETE", "/v1/clients/device-1/envelopes")
      #expect(answer.text == #"{"cancelled":2000}"#)
      #expect(try await device.request("POST", "/v1/upstreams/default/resume").status == 200)
      let id = try #require(slow["id"] as? String)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      let last = try await device.post(["path": "/last", "lane": "l0"]).json()
      let lastID = try #require(last["id"] as? String)
      #expect(try await device.end(of: lastID)["state"] as? String == "delivered")
      #expect(upstream.received.map(\.target) == ["/slow", "/last"])
      #expect(try await waiting() == 0)
      let again = try await device.request("DELETE", "/v1/clients/device-1/envelopes")
      #expect(again.text == #"{"cancelled":0}"#)
    }

    @Test("one lane, one tag or both are forgotten in one act, and nothing beside them")
    func parts() async throws {
      let device = relay.device()
      let clear = { (query: String) async throws -> String in
        try await device.request("DELETE", "/v1/clients/device-1/envelopes\(query)").text
      }
      for (lane, tag) in [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("b", nil)] {
        let fields: [String: any Sendable] = ["path": "/\(lane)\(tag ?? "")", "lane": lane]
        _ = try await device.post(
          fields.merging(tag.map { ["tag": $0, "hold": true] } ?? [:]) { $1 })
      }
      _ = try await relay.device("device-2").post(["path": "/", "lane": "a", "hold": true])
      for nothing in ["?lane=none", "?tag=none", "?lane=none&tag=x", "?lane=c&tag=y"] {
        #expect(try await clear(nothing) == #"{"cancelled":0}"#, "\(nothing)")
      }
      #expect(try await clear("?lane=b&tag=x") == #"{"cancelled":1}"#)
      #expect(try await clear("?tag=y") == #"{"cancelled":2}"#)
      try await relay.kill()
      try await relay.start()
      // The head and the one behind it are gone, so the last one of the lane is sent.
      try await upstream.received(count: 1)
      // An attempt whose end the kill has kept from the disk is made again.
      #expect(Set(upstream.received.map(\.target)) == ["/b"])
      let last = try await relay.device().request(
        "DELETE", "/v1/clients/device-1/envelopes?lane=a")
      #expect(last.text == #"{"cancelled":1}"#)
      #expect(try await waiting("device-2") == 1)
    }

    @Test("a lane goes on behind what was forgotten of it, and the running one finishes")
    func goesOnBehind() async throws {
      upstream.behave { $0.target == "/slow" ? .answer(200, delayMs: 1500) : .answer(200) }
      let device = relay.device()
      _ = try await device.post(["path": "/slow", "tag": "old"])
      try await upstream.received(count: 1)
      for number in 0..<20 {
        _ = try await device.post(["path": "/\(number)", "tag": number % 2 == 0 ? "old" : "new"])
      }
      let answer = try await device.request(
        "DELETE", "/v1/clients/device-1/envelopes?lane=default&tag=old")
      #expect(answer.text == #"{"cancelled":10}"#)
      try await upstream.received(count: 11)
      let odd = stride(from: 1, to: 20, by: 2).map { "/\($0)" }
      #expect(upstream.received.map(\.target) == ["/slow"] + odd)
    }

    @Test("what is parked goes as well, and whoever waits for one of them is told")
    func parked() async throws {
      let device = relay.device()
      let parked = try await device.post(["path": "/2", "sequence": 2]).json()
      #expect(parked["state"] as? String == "parked")
      let held = try await device.post(["path": "/h", "hold": true, "lane": "h"]).json()
      let id = try #require(held["id"] as? String)
      let relay = relay
      async let end = relay.device().end(of: id)["state"] as? String
      let answer = try await device.request("DELETE", "/v1/clients/device-1/envelopes")
      #expect(answer.text == #"{"cancelled":2}"#)
      #expect(try await end == "cancelled")
      try await relay.kill()
      try await relay.start()
      #expect(try await waiting() == 0)
      // Its number counts as taken: the one before it goes, and the next one.
      for number in [1, 3] {
        _ = try await relay.device().post(["path": "/\(number)", "sequence": number])
      }
      try await upstream.received(count: 2)
      #expect(upstream.received.map(\.target) == ["/1", "/3"])
    }
  }
}
