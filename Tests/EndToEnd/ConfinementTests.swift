import Foundation
import Testing

extension EndToEnd {
  @Suite("Staying behind the base URL", .serialized, .ofNoStore)
  struct Confinement {
    private let upstream: TestUpstream
    private let relay: Relay
    private let device: Device

    init() async throws {
      upstream = try TestUpstream()
      relay = try Relay(upstreams: [
        "default": Relay.quick(upstream, ["url": upstream.url + "/base"])
      ])
      try await relay.start()
      device = relay.device()
    }

    /// Paths that some server would read as leaving the base, or that are none.
    private static let leaving = [
      "/..", "/../x", "/a/../../x", "/%2e%2e/x", "/.%2E/x", "/%252e%252e/x", "/..%2fx", "/..%5cx",
      "/a/..;/x", "/..%00/x", "/%c0%ae%c0%ae/x", "/..%c0%afx", "/%ef%bc%8e%ef%bc%8e/x",
      "//evil.example/x", "/%2fevil.example/x", "/%5cevil.example", "/%zz", "/%u002e%u002e/x",
    ]

    /// Paths that look odd, and stay.
    private static let staying = [
      "/@evil.example/", "/user:pw@evil.example/x", "/http://evil.example/", "/a//b", "/a%2Fb",
      "/...",
      "/a;x=1", "/%20", "/?next=http://evil.example/../x", "/a?b=%0d%0aX-Evil:%201", "/:80/",
      "/a%00b",
    ]

    @Test(
      "as an envelope's path or as a request's, what could leave is refused, and nothing is sent")
    func refused() async throws {
      for path in Self.leaving {
        let posted = try await device.post(["path": path])
        #expect(posted.status == 422 && posted.problem == "invalid-field", "\(path): \(posted)")
        let head = "GET /v1/relay/default\(path) HTTP/1.1\r\nHost: r\r\n"
        let relayed = try await device.raw(
          Array((head + "Waystation-Client: device-1\r\n\r\n").utf8))
        #expect([400, 422].contains(relayed.status), "\(path): \(relayed)")
      }
      for path in [
        "http://evil.example/", "@evil.example", "", "*", "/a\r\nX-Evil: 1", "/\\..", "/a#b",
      ] {
        let posted = try await device.post(["path": path])
        #expect(posted.status == 422, "\(path): \(posted)")
      }
      try await expectOnly([])
    }

    @Test("what stays arrives byte for byte behind the base path")
    func arrives() async throws {
      for path in Self.staying {
        #expect(try await device.post(["path": path]).status == 202, "\(path)")
        #expect(try await device.relay("GET", path).status == 202, "\(path)")
      }
      try await expectOnly(Self.staying.flatMap { ["/base\($0)", "/base\($0)"] })
    }

    @Test("a method that has the upstream send back what it got is refused")
    func echoes() async throws {
      for method in ["TRACE", "trace", "TRACK", "CONNECT"] {
        #expect(try await device.post(["path": "/", "method": method]).status == 422)
        let relayed = try await device.relay(method, "/")
        #expect(relayed.status == (method == "CONNECT" ? 501 : 405), "\(relayed)")
      }
      try await expectOnly([])
    }

    @Test("a correction is held to the same")
    func patched() async throws {
      let posted = try await device.post(["path": "/a", "hold": true])
      let id = try #require(posted.json()["id"] as? String)
      for path in Self.leaving {
        let patch = try Device.json(["path": path])
        let answer = try await device.request(
          "PATCH", "/v1/envelopes/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
          body: patch)
        #expect(answer.status == 422, "\(path): \(answer)")
      }
      #expect(try await device.request("POST", "/v1/envelopes/\(id)/run").status == 200)
      try await expectOnly(["/base/a"])
    }

    @Test("so is a path whose references were filled, and a field filled with a line break")
    func referenced() async throws {
      upstream.behave { _ in
        .answer(
          200,
          body: Array(#"{"up":"..","in":"a/b?c#d@e","out":"a/../b","line":"a\r\nX-Evil: 1"}"#.utf8))
      }
      var ids: [String] = []
      let envelopes: [[String: any Sendable]] = [
        ["path": "/first", "key": "k"],
        ["path": "/{{response:k#/up}}/x", "references": true],
        ["path": "/{{response:k#/up}}", "references": true],
        ["path": "/h", "headers": ["X-A": "{{response:k#/line}}"], "references": true],
        ["path": "/x%2F{{response:k#/out}}", "references": true],
        ["path": "/{{response:k#/in}}", "references": true],
      ]
      for envelope in envelopes {
        ids.append(try #require(try await device.post(envelope).json()["id"] as? String))
      }
      for id in ids[1...4] {
        let end = try await device.end(of: id)
        #expect(end["state"] as? String == "failed", "\(end)")
        #expect((end["reason"] as? String)?.contains("with its references filled") == true)
      }
      #expect(try await device.end(of: ids[5])["state"] as? String == "delivered")
      try await expectOnly(["/base/first", "/base/a%2Fb%3Fc%23d%40e"])
      #expect(!upstream.received.contains { $0["X-Evil"] != nil })
    }

    @Test("no field, name, key or tag brings a line of its own")
    func injected() async throws {
      let breaks = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\u{0}b"]
      for text in breaks {
        let envelopes: [[String: any Sendable]] = [
          ["headers": ["X-A": text]], ["headers": [text: "1"]], ["headers": ["X-A": ["1", text]]],
          ["key": text], ["tag": text], ["lane": text], ["client": text], ["method": text],
          ["upstream": text], ["coalesce": text],
        ]
        for envelope in envelopes {
          let answer = try await device.post(envelope.merging(["path": "/"]) { given, _ in given })
          #expect(answer.status == 422, "\(envelope): \(answer)")
        }
      }
      for name in ["X:A", "X A", "", "X\tA", "Host", "Transfer-Encoding", "Waystation-Client"] {
        #expect(
          try await device.post(["path": "/", "headers": [name: "1"]]).status == 422, "\(name)")
      }
      try await expectOnly([])
    }

    @Test("an answer's fields bring the device no line of their own, and no cookie")
    func answered() async throws {
      upstream.behave { _ in
        .answer(
          200,
          fields: [
            WireField(name: "X-A", value: "a\rSet-Cookie: b=c"), WireField(name: "X B", value: "1"),
            WireField(name: "Set-Cookie", value: "d=e"), WireField(name: "X-C", value: "1"),
            WireField(name: "Location", value: "/v1/clients/device-1/run"),
            WireField(name: "X-Accel-Redirect", value: "/etc/passwd"),
          ], body: Array("<script>".utf8))
      }
      let answer = try await device.relay("GET", "/", headers: ["Prefer": "wait=20"])
      #expect(answer.status == 200)
      #expect(answer["X-A"] == "a Set-Cookie: b=c")
      #expect(answer["X-C"] == "1")
      for name in ["Set-Cookie", "X B", "Location", "X-Accel-Redirect"] {
        #expect(answer[name] == nil, "\(name)")
      }
      #expect(answer["Waystation-Upstream-Location"] == "/v1/clients/device-1/run")
      #expect(answer["X-Content-Type-Options"] == "nosniff")
      #expect(answer["Content-Security-Policy"] == "sandbox; default-src 'none'")
    }

    /// A request with a path of its own comes last; when it is there, so is all that was sent.
    private func expectOnly(_ targets: [String]) async throws {
      let answer = try await relay.device("last").relay(
        "GET", "/last", headers: ["Prefer": "wait=20"])
      #expect(answer["Waystation-Upstream-Status"] == "200")
      let all = try await upstream.received("all requests") {
        $0.count >= targets.count + 1
      }
      #expect(all.map(\.target).sorted() == (targets + ["/base/last"]).sorted())
    }
  }

  @Suite("Through a proxy", .serialized, .ofNoStore)
  struct Proxied {
    @Test("the proxy is asked for the configured upstream, whatever the path says")
    func absoluteForm() async throws {
      let proxy = try TestUpstream()
      let relay = try Relay(upstreams: [
        "default": [
          "url": "http://upstream.invalid/base",
          "proxy": "http://u:pa55word@127.0.0.1:\(proxy.port)",
        ]
      ])
      try await relay.start()
      let device = relay.device()
      let paths = ["/@evil.example/", "/http://evil.example/", "/:80/x", "/a?u=//evil.example"]
      for path in paths {
        let answer = try await device.relay("GET", path, headers: ["Prefer": "wait=20"])
        #expect(answer["Waystation-Upstream-Status"] == "200", "\(answer)")
      }
      #expect(proxy.received.map(\.target) == paths.map { "http://upstream.invalid/base\($0)" })
      #expect(proxy.received.allSatisfy { $0["Host"] == "upstream.invalid" })
      for path in ["//evil.example/", "/../x"] {
        #expect(try await device.post(["path": path]).status == 422)
      }
    }

    @Test("a proxy that asks for credentials is no refusal of the upstream's")
    func unauthorized() async throws {
      let proxy = try TestUpstream { _ in .answer(407) }
      let relay = try Relay(upstreams: [
        "default": Relay.quick(
          proxy, ["url": "http://upstream.invalid", "proxy": "http://127.0.0.1:\(proxy.port)"])
      ])
      try await relay.start()
      let device = relay.device()
      let posted = try await device.post(["path": "/"])
      let id = try #require(posted.json()["id"] as? String)
      try await proxy.received(count: 2)
      proxy.behave { _ in .answer(200) }
      let end = try await device.end(of: id)
      #expect(end["state"] as? String == "delivered", "\(end)")
    }
  }
}
