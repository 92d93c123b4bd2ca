import Foundation
import Testing

extension EndToEnd {
  @Suite("Answers that nobody asked for", .serialized, .ofNoStore)
  struct StrayAnswers {
    private static let evil = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)

    private func post(_ relay: Relay, _ client: String, _ path: String) async throws -> String {
      let answer = try await relay.device(client).post(["path": path, "body": ["total": 12]])
      try answer.require(202)
      return try #require(answer.json()["id"] as? String)
    }

    @Test("a refusal stays a refusal, whatever came behind the answer to another client's envelope")
    func refused() async throws {
      let upstream = try TestUpstream { $0.target == "/bad" ? .answer(400) : .answer(200) }
      let relay = try await Relay.started(upstream)
      let good = try await post(relay, "truck-1", "/good")
      #expect(try await relay.device("truck-1").end(of: good)["state"] as? String == "delivered")
      try await upstream.sayUnasked(Self.evil)
      let bad = try await post(relay, "truck-2", "/bad")
      let end = try await relay.device("truck-2").end(of: bad)
      #expect(end["state"] as? String == "failed" && end["responseStatus"] as? Int == 400)
      #expect(end["attemptCount"] as? Int == 1)
      let answer = try await relay.device("truck-2").get("/v1/envelopes/\(bad)/response")
      #expect(!answer.text.contains("evil"))
      #expect(upstream.received.map(\.target) == ["/good", "/bad"])
    }

    @Test("an order that never arrived is not taken for arrived")
    func verified() async throws {
      let upstream = try TestUpstream { request in
        switch request.target {
        case "/together": .answer(200, delayMs: 300)
        case "/orders" where request["Waystation-Attempt"] == "1": .cut
        case "/orders": .answer(201)
        default: .answer(404)
        }
      }
      let relay = try await Relay.started(
        upstream,
        upstreamMore: ["ambiguous": "verify", "verify": ["path": "/orders/{id}"]])
      // At the same time, so that several connections are kept.
      let clients = (1...4).map { "truck-\($0)" }
      var together: [String] = []
      for client in clients { together.append(try await post(relay, client, "/together")) }
      for (client, id) in zip(clients, together) {
        _ = try await relay.device(client).end(of: id)
      }
      try await upstream.sayUnasked(Self.evil)
      let order = try await post(relay, "till-1", "/orders")
      let end = try await relay.device("till-1").end(of: order)
      #expect(end["state"] as? String == "delivered" && end["responseStatus"] as? Int == 201)
      let attempts = end["attempts"] as? [[String: Any]] ?? []
      #expect(attempts.compactMap { $0["outcome"] as? String } == ["ambiguous", "delivered"])
      #expect(
        upstream.received.dropFirst(4).map(\.target) == ["/orders", "/orders/\(order)", "/orders"])
    }

    @Test("an export of traces that was refused is made again, whatever came before")
    func traces() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, more: collector.tracing())
      let first = try await post(relay, "truck-1", "/one")
      _ = try await relay.device("truck-1").end(of: first)
      try await collector.upstream.received(count: 1)
      try await eventually("all spans of the first envelope") {
        try collector.spans().count >= 3 ? true : nil
      }
      let before = collector.upstream.received.count
      collector.upstream.behave { _ in
        collector.upstream.received.count == before + 1 ? .answer(503) : Collector.success
      }
      try await collector.upstream.sayUnasked(Self.evil)
      let second = try await post(relay, "truck-1", "/two")
      _ = try await relay.device("truck-1").end(of: second)
      try await collector.upstream.received("what was refused, once more") { requests in
        requests.dropFirst(before + 1).contains { $0.body == requests[before].body }
      }
    }

    @Test("where no connection is to be kept, each request has one of its own")
    func noneKept() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream, upstreamMore: ["reuseConnections": false])
      for number in 1...3 {
        let id = try await post(relay, "truck-1", "/\(number)")
        _ = try await relay.device("truck-1").end(of: id)
      }
      #expect(upstream.received.map { $0["Connection"] } == ["close", "close", "close"])
      #expect(upstream.connectionCount == 3)
    }
  }
}
