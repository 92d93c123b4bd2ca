import Foundation
import Testing

extension EndToEnd {
  @Suite("What needs a person", .serialized)
  struct Attention {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream { request in
        switch request.target {
        case "/named":
          Self.problem(#"{"type": "https://errors.example/no-stock", "errorId": "E-17"}"#)
        case "/typed":
          Self.problem(#"{"type": "https://errors.example/no-stock", "title": "No stock"}"#)
        case "/blank": Self.problem(#"{"type": "about:blank", "title": "Conflict"}"#)
        case "/odd": Self.problem(#"{"errorId": 17"#)
        default: .answer(200)
        }
      }
      relay = try await Relay.started(upstream)
    }

    private static func problem(_ body: String) -> Behaviour {
      .answer(
        409,
        fields: [
          WireField(name: "Content-Type", value: "application/problem+json; charset=utf-8")
        ],
        body: Array(body.utf8))
    }

    private var device: Device { relay.device() }

    private func post(_ path: String, onFailure: String = "block") async throws -> String {
      let answer = try await device.post(
        ["path": path, "lane": String(path.dropFirst()), "onFailure": onFailure])
      return try #require(answer.json()["id"] as? String)
    }

    @Test("a client's blocked heads are listed with what the upstream said, over a restart")
    func listed() async throws {
      var ids: [String: String] = [:]
      for path in ["/named", "/typed", "/blank", "/odd", "/fine"] {
        let id = try await post(path)
        ids[path] = id
        _ = try await device.end(of: id)
      }
      try await relay.kill()
      try await relay.start()
      let client = try await device.get("/v1/clients/\(device.name)").json()
      #expect(client["needsAttentionCount"] as? Int == 4)
      let listed = try #require(client["needsAttention"] as? [[String: Any]])
      #expect(Set(listed.compactMap { $0["id"] as? String }).count == 4)
      for (path, errorID) in [
        ("/named", "E-17"), ("/typed", "https://errors.example/no-stock"), ("/blank", nil),
        ("/odd", nil),
      ] as [(String, String?)] {
        let shown = try #require(listed.first { $0["id"] as? String == ids[path] })
        #expect(shown["lane"] as? String == String(path.dropFirst()))
        #expect(shown["upstream"] as? String == "default")
        #expect(shown["responseStatus"] as? Int == 409)
        #expect(shown["reason"] as? String == "the upstream answered 409")
        #expect(shown["errorId"] as? String == errorID)
        #expect((shown["fix"] as? String)?.contains("/resolve") == true)
        let envelope = try await device.get("/v1/envelopes/\(ids[path] ?? "")").json()
        #expect(envelope["errorId"] as? String == errorID)
      }
      let head = try #require(ids["/named"])
      _ = try await device.request(
        "POST", "/v1/envelopes/\(head)/resolve", headers: ["Content-Type": "application/json"],
        body: Device.json(["action": "discard"]))
      let after = try await device.get("/v1/clients/\(device.name)").json()
      #expect(after["needsAttentionCount"] as? Int == 3)
      #expect(try await device.get("/v1/envelopes/\(head)").json()["errorId"] as? String == "E-17")
    }

    @Test("a client that nothing stands for needs nobody")
    func nothing() async throws {
      _ = try await device.end(of: post("/fine"))
      _ = try await device.end(of: post("/typed", onFailure: "skip"))
      let client = try await device.get("/v1/clients/\(device.name)").json()
      #expect(client["needsAttentionCount"] as? Int == 0)
      #expect((client["needsAttention"] as? [Any])?.isEmpty == true)
    }
  }
}
