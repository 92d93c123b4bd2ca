import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("The access log", .ofNoStore)
  struct AccessLog {
    private typealias Line = [String: Any]

    /// The lines for requests, in order.
    private func lines(_ relay: Relay) throws -> [Line] {
      // The last one may be half written.
      try relay.log.split(separator: "\n").filter { $0.hasSuffix("}") }.compactMap { line in
        let json = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? Line
        return json?["event"] as? String == "request" ? json : nil
      }
    }

    /// Waits for the line that `matches` finds.
    private func line(
      _ what: String, _ relay: Relay, _ matches: @escaping (Line) -> Bool
    ) async throws -> Line {
      try await eventually("a line for \(what)") { try lines(relay).first(where: matches) }
    }

    @Test("each request has a line that says who, what, how it was answered and what it brought")
    func requests() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(
        upstream, more: ["log": ["access": true, "level": "warning"] as [String: any Sendable]])
      let made = try await relay.token(["client": "truck-1"])
      let device = relay.device("truck-1", token: made.text)
      let posted = try await device.post(
        ["path": "/a", "body": "hello"], headers: ["X-Request-Id": "abc-1"])
      let id = try #require(try posted.json()["id"] as? String)
      let post = try await line("the post", relay) { $0["envelope"] as? String == id }
      #expect(post["method"] as? String == "POST" && post["path"] as? String == "/v1/envelopes")
      #expect(post["status"] as? Int == 202 && post["protocol"] as? String == "HTTP/1.1")
      #expect(post["who"] as? String == "truck-1" && post["credential"] as? String == made.id)
      #expect(post["requestId"] as? String == "abc-1" && post["query"] == nil)
      #expect((post["peer"] as? String)?.hasPrefix("127.0.0.1:") == true)
      #expect((post["durationUs"] as? Int ?? 0) > 0 && post["end"] == nil)
      #expect((post["bytesIn"] as? Int ?? 0) > 100 && (post["bytesOut"] as? Int ?? 0) > 100)

      _ = try await device.relay("POST", "/b?token=s3cret-1&client=s3cret-2", body: [0x78])
      let relayed = try await line("the relayed one", relay) { $0["query"] != nil }
      #expect(relayed["path"] as? String == "/v1/relay/default/b")
      #expect(relayed["query"] as? String == "token=(hidden)&client=(hidden)")
      #expect(relayed["envelope"] is String)

      let batch = try await device.post(
        batch: (0..<30).map { ["path": "/c", "lane": "l\($0)", "hold": true] })
      let results = try #require(try batch.json()["results"] as? [Line])
      let brought = try await line("the batch", relay) { $0["envelopeCount"] as? Int == 30 }
      let named = (brought["envelopes"] as? String)?.split(separator: " ").map(String.init)
      #expect(named == results.prefix(24).compactMap { $0["id"] as? String })

      _ = try await relay.device("x", token: "wrong").get("/v1/envelopes?state=held&x=s3cret-3")
      let refused = try await line("the refused one", relay) { $0["status"] as? Int == 401 }
      #expect(refused["who"] == nil)
      #expect(refused["query"] as? String == "state=held&x=(hidden)")
      #expect(!relay.log.contains("s3cret-") && !relay.log.contains(made.text))
    }

    @Test("so have those that the server refuses by itself, and those that are given up")
    func refusals() async throws {
      let relay = try await Relay.started(
        try TestUpstream(),
        more: [
          "log": ["access": true],
          "limits": ["headTimeoutMs": 300, "requestLineBytesMax": 1000],
        ])
      func send(_ text: String) async throws {
        try await onThread {
          let connection = try Connection(port: relay.port)
          try connection.write(Array(text.utf8))
          _ = try connection.readResponse(to: "GET")
        }
      }
      try await send("GET / HTTP/1.1\r\nHost: a\r\nbroken\r\n\r\n")
      let malformed = try await line("400", relay) { $0["status"] as? Int == 400 }
      #expect(malformed["problem"] as? String == "malformed-request")
      #expect(malformed["path"] == nil && malformed["durationUs"] == nil)
      try await send("GET /half HTTP/1.1\r\n")
      _ = try await line("408", relay) { $0["status"] as? Int == 408 }
      try await send("GET /\(String(repeating: "x", count: 2000)) HTTP/1.1\r\n\r\n")
      _ = try await line("414", relay) { $0["status"] as? Int == 414 }
      try await send("GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n")
      _ = try await line("417", relay) { $0["status"] as? Int == 417 }
      try await onThread {
        let connection = try Connection(port: relay.port)
        let head = "PUT /v1/relay/default/x HTTP/1.1\r\nHost: a\r\nWaystation-Client: a\r\n"
        try connection.write(Array((head + "Content-Length: 9\r\n\r\nabc").utf8))
        connection.close()
      }
      let left = try await line("one that left", relay) { $0["end"] != nil }
      #expect(left["end"] as? String == "the peer left before it was answered")
      #expect(left["method"] as? String == "PUT" && left["status"] == nil)
      // A connection on which nothing was asked is no request.
      _ = try Connection(port: relay.port)
      #expect(try lines(relay).count == 5)
    }

    @Test("it is off until it is asked for, also while the relay runs, and names TLS")
    func reloaded() async throws {
      let secured = try await SecuredRelay.started()
      let relay = secured.relay
      try await secured.plain.get("/healthz").require(200)
      var config = try #require(
        try JSONSerialization.jsonObject(
          with: Data(contentsOf: URL(fileURLWithPath: relay.folder.path + "/config.json")))
          as? [String: Any])
      config["log"] = ["access": true]
      try relay.folder.write("config.json", String(decoding: Device.json(config), as: UTF8.self))
      relay.signal(SIGHUP)
      try await relay.log(holds: #""changed":"log""#)
      #expect(try lines(relay).isEmpty)
      let tunnel = try secured.tunnel(["-tls1_3"])
      _ = try await tunnel.request("GET", "/readyz")
      let line = try await line("the one over TLS", relay) { $0["path"] as? String == "/readyz" }
      #expect(line["tls"] as? String == "TLSv1.3")
    }
  }
}
