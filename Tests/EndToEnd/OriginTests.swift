import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Websites and a relay without credentials", .serialized, .ofNoStore)
  struct Origins {
    /// What a relay without credentials can be asked, and what a website would like.
    private static let calls: [(method: String, target: String, body: String?)] = [
      ("GET", "/status", nil), ("GET", "/metrics", nil), ("GET", "/v1/envelopes", nil),
      ("GET", "/v1/events", nil), ("GET", "/v1/clients", nil),
      ("POST", "/v1/upstreams/default/pause", nil), ("POST", "/v1/clients/device-1/run", nil),
      ("DELETE", "/v1/clients/device-1/envelopes", nil),
      ("POST", "/v1/envelopes", #"{"client": "device-1", "path": "/x"}"#),
      ("GET", "/v1/relay/default/x", nil), ("POST", "/v1/relay/default/x", "x"),
    ]

    private func started(_ access: [String: any Sendable] = [:]) async throws -> Relay {
      let upstream = try TestUpstream()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: ["access": access],
        environment: ["WAYSTATION_HOSTS": ""])
      try await relay.start()
      return relay
    }

    private func ask(
      _ relay: Relay, _ call: (method: String, target: String, body: String?), host: String,
      _ fields: String = ""
    ) async throws -> WireResponse {
      let kind = call.target == "/v1/envelopes" ? "Content-Type: application/json\r\n" : ""
      let length = call.body.map { "Content-Length: \($0.utf8.count)\r\n\(kind)" } ?? ""
      let head =
        "\(call.method) \(call.target) HTTP/1.1\r\nHost: \(host)\r\n"
        + "Waystation-Client: device-1\r\nConnection: close\r\n\(fields)\(length)\r\n"
      return try await relay.device().raw(
        Array((head + (call.body ?? "")).utf8), method: call.method)
    }

    /// Nothing is stored, and nothing is paused.
    private func isUntouched(_ relay: Relay) async throws -> Bool {
      let status = try await ask(relay, ("GET", "/status", nil), host: "localhost").json()
      let store = status["store"] as? [String: Any]
      let counts = store?["envelopes"] as? [String: Int]
      let upstreams = status["upstreams"] as? [[String: Any]]
      return counts?.values.allSatisfy { $0 == 0 } == true
        && upstreams?.first?["paused"] as? Bool != true
    }

    @Test("a host that the relay does not know is refused with 421, whatever is asked")
    func unknownHosts() async throws {
      let relay = try await started()
      for host in ["evil.example", "evil.example:\(relay.port)", "192.0.2.1", "localhost.evil"] {
        for call in Self.calls {
          let answer = try await ask(relay, call, host: host)
          #expect(answer.status == 421 && answer.problem == "unknown-host", "\(call) \(answer)")
          #expect(try answer.json()["field"] as? String == "Host")
        }
      }
      #expect(try await isUntouched(relay))
      try await relay.log(holds: "named a host that is not known")
      // What says nothing of anybody is told to probes by any name.
      for target in ["/healthz", "/readyz"] {
        #expect(try await ask(relay, ("GET", target, nil), host: "10.1.2.3").status == 200)
      }
    }

    @Test("this machine's names, the address that is connected to, and no name at all are known")
    func knownHosts() async throws {
      let relay = try await started()
      for host in ["localhost", "x.localhost:80", "127.0.0.1:\(relay.port)", "[::1]", "127.8.8.8"] {
        #expect(try await ask(relay, ("GET", "/status", nil), host: host).status == 200, "\(host)")
      }
      let old = try await relay.device().raw(Array("GET /status HTTP/1.0\r\n\r\n".utf8))
      #expect(old.status == 200)
    }

    @Test("what a browser sends for another site is refused with 403, and does nothing")
    func otherSites() async throws {
      let relay = try await started()
      let host = "127.0.0.1:\(relay.port)"
      for fields in [
        "Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n", "Origin: http://127.0.0.1:1\r\n",
        "Origin: http://localhost:\(relay.port)\r\n",
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
      ] {
        for call in Self.calls {
          let answer = try await ask(relay, call, host: host, fields)
          #expect(answer.status == 403 && answer.problem == "cross-site", "\(call) \(answer)")
        }
      }
      #expect(try await isUntouched(relay))
      let own = "Origin: http://\(host)\r\nSec-Fetch-Site: same-origin\r\n"
      let pause = ("POST", "/v1/upstreams/default/pause", nil as String?)
      #expect(try await ask(relay, pause, host: host, own).status == 200)
      // A link may lead to the page, which holds no data.
      let link = "Accept: text/html\r\nSec-Fetch-Site: cross-site\r\n"
      #expect(try await ask(relay, ("GET", "/status", nil), host: host, link).status == 200)
    }

    @Test("access.hosts adds names, also while the relay runs, and a variable beats the file")
    func setting() async throws {
      let upstream = try TestUpstream()
      let relay = try await started(["hosts": ["relay.example", "*.fleet.example"]])
      let status = ("GET", "/status", nil as String?)
      #expect(try await ask(relay, status, host: "relay.example:8080").status == 200)
      #expect(try await ask(relay, status, host: "a.fleet.example").status == 200)
      #expect(try await ask(relay, status, host: "waystation").status == 421)
      let pause = ("POST", "/v1/upstreams/default/pause", nil as String?)
      // A proxy in front of it may put another host in.
      let page = "Origin: https://relay.example\r\nSec-Fetch-Site: same-origin\r\n"
      #expect(try await ask(relay, pause, host: "127.0.0.1:8080", page).status == 200)
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["access": ["hosts": ["waystation"]]])
      relay.signal(SIGHUP)
      try await relay.log(holds: "configuration reloaded")
      #expect(try await ask(relay, status, host: "waystation").status == 200)
      #expect(try await ask(relay, status, host: "relay.example").status == 421)
      try await relay.kill()
      relay.setEnvironment(["WAYSTATION_HOSTS": "one.example, two.example"])
      try await relay.start()
      #expect(try await ask(relay, status, host: "two.example").status == 200)
      #expect(try await ask(relay, status, host: "waystation").status == 421)
    }

    @Test("who shows a token may name any host, and come from anywhere")
    func tokens() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let token = "Authorization: Bearer \(Credentials.steer)\r\n"
      let fields = token + "Origin: https://tools.example\r\nSec-Fetch-Site: cross-site\r\n"
      let pause = ("POST", "/v1/upstreams/default/pause", nil as String?)
      #expect(try await ask(relay, pause, host: "relay.example", fields).status == 200)
      // And who shows none is asked for one, as ever.
      #expect(try await ask(relay, pause, host: "relay.example").status == 401)
    }

    @Test("where some show tokens and anybody may come without, who comes without is looked at")
    func mixed() async throws {
      let access: [String: any Sendable] = [
        "operators": Credentials.operators, "anonymous": "allow",
      ]
      let relay = try await started(access)
      let status = ("GET", "/status", nil as String?)
      let token = "Authorization: Bearer \(Credentials.read)\r\n"
      #expect(try await ask(relay, status, host: "evil.example").status == 421)
      #expect(try await ask(relay, status, host: "evil.example", token).status == 200)
      // What can be no token of the relay's does not count as one.
      let other = "Authorization: Bearer abc\r\n"
      #expect(try await ask(relay, status, host: "evil.example", other).status == 421)
    }
  }
}
