import Foundation
import Testing

extension EndToEnd {
  @Suite("References", .serialized)
  struct References {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream { request in
        switch request.target {
        case "/orders": .answer(201, body: Array(#"{"order":{"id":"a/7"},"n":[3]}"#.utf8))
        case "/bad": .answer(422, body: Array(#"{"id":1}"#.utf8))
        case "/never": .never
        default: .answer(200)
        }
      }
      relay = try await Relay.started(upstream)
    }

    private var device: Device { relay.device() }

    private func post(_ envelope: [String: any Sendable]) async throws -> String {
      try #require(try await device.post(envelope).json()["id"] as? String)
    }

    private func call(
      _ method: String, _ target: String, _ body: [String: any Sendable] = [:]
    ) async throws -> WireResponse {
      try await device.request(
        method, target, headers: ["Content-Type": "application/json"], body: Device.json(body))
    }

    @Test("a later envelope is sent with what an earlier one was answered, over a restart")
    func filled() async throws {
      let order = try await post(["key": "order-1", "path": "/orders", "hold": true])
      let id = try await post([
        "path": "/orders/{{response:order-1#/order/id}}/lines", "references": true,
        "headers": ["X-Order": "{{response:order-1#/order/id}}"] as [String: any Sendable],
        "body": ["order": "no. {{response:order-1#/order/id}}", "n": "{{response:order-1#/n/0}}"],
      ])
      let relayed = try await device.relay(
        "PUT", "/o/%7B%7Bresponse:order-1%23/n/0%7D%7D",
        headers: ["Waystation-References": "true", "Content-Type": "text/plain"],
        body: Array("{{response:order-1#/n/0}}".utf8))
      #expect(relayed.status == 202)
      let shown = try await device.get("/v1/envelopes/\(id)").json()
      #expect(shown["references"] as? Bool == true)
      try await relay.kill()
      try await relay.start()
      #expect(try await call("POST", "/v1/envelopes/\(order)/run").status == 200)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      let received = try await upstream.received(count: 3)
      #expect(received[1].target == "/orders/a%2F7/lines" && received[1]["X-Order"] == "a/7")
      #expect(
        try received[1].message.json() as? [String: String] == ["order": "no. a/7", "n": "3"])
      #expect(received[2].target == "/o/3" && received[2].message.text == "3")
      #expect(received[2]["Waystation-References"] == nil)
    }

    @Test("an attempt that a crash cut off is filled again, from the same answer")
    func again() async throws {
      let order = try await post(["key": "order-1", "path": "/orders"])
      #expect(try await device.end(of: order)["state"] as? String == "delivered")
      upstream.behave { _ in .never }
      let id = try await post(["path": "/{{response:order-1#/n/0}}", "references": true])
      try await upstream.received(count: 2)
      try await relay.kill()
      upstream.behave { _ in .answer(200) }
      try await relay.start()
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(upstream.received.map(\.target) == ["/orders", "/3", "/3"])
    }

    @Test("what cannot be filled is refused with the reason, and never sent")
    func refused() async throws {
      let bad = try await post(["key": "bad", "path": "/bad"])
      let id = try await post(["path": "/x/{{response:bad#/id}}", "references": true])
      #expect(try await device.end(of: bad)["state"] as? String == "failed")
      let end = try await device.end(of: id)
      #expect(end["state"] as? String == "failed")
      let reason = try #require(end["reason"] as? String)
      #expect(reason.contains("{{response:bad#/id}}") && reason.contains("failed, not delivered"))
      let attempts = try #require(end["attempts"] as? [[String: Any]])
      #expect(attempts.map { $0["outcome"] as? String } == ["refused"])
      #expect(upstream.received.map(\.target) == ["/bad"])
    }

    @Test("under block the lane stands, over a restart, until the envelope is corrected")
    func blocked() async throws {
      let id = try await post([
        "path": "/x/{{response:none#/id}}", "references": true, "onFailure": "block",
      ])
      #expect(try await device.end(of: id)["state"] as? String == "blocked")
      try await relay.kill()
      try await relay.start()
      let malformed = try await call("PATCH", "/v1/envelopes/\(id)", ["path": "/x/{{oh}}"])
      #expect(malformed.status == 422)
      #expect(try malformed.json()["field"] as? String == "/path")
      let patched = try await call(
        "PATCH", "/v1/envelopes/\(id)", ["path": "/x/7", "references": false])
      #expect(patched.status == 200)
      #expect(try patched.json()["references"] == nil)
      _ = try await call("POST", "/v1/envelopes/\(id)/resolve", ["action": "retry"])
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(upstream.received.map(\.target) == ["/x/7"])
    }

    @Test("a malformed reference is refused when it is posted, also in a large body")
    func malformed() async throws {
      let json = try await device.post(["path": "/{{response:k}}", "references": true])
      #expect(json.status == 422)
      #expect(json.problem == "invalid-field")
      #expect(try json.json()["field"] as? String == "/path")
      let headers = ["Waystation-References": "true", "Content-Type": "text/plain"]
      for body in ["{{oh}}", String(repeating: "x", count: 300_000)] {
        let answer = try await device.relay("POST", "/x", headers: headers, body: Array(body.utf8))
        #expect(answer.status == 422)
        #expect(try answer.json()["field"] as? String == "body")
      }
      if StoreEngine.hasFiles {
        let folder = relay.folder.path + "/data/bodies"
        // A file is deleted behind the answer's back.
        try await eventually("folder without the refused body") {
          try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty ? true : nil
        }
      }
      // Without the word, nothing is looked for.
      let plain = try await device.relay(
        "POST", "/x", headers: ["Content-Type": "text/plain"], body: Array("{{oh}}".utf8))
      #expect(plain.status == 202)
      try await upstream.received(count: 1)
      #expect(upstream.received[0].message.text == "{{oh}}")
    }
  }
}
