import Foundation
import Testing

extension EndToEnd {
  @Suite("An upstream's credentials", .serialized, .ofNoStore)
  struct UpstreamSecrets {
    private static let token = "tok-5f0c2b9e7a41d3"
    private static let password = "pw-93ab7c01e6"
    private static let second = "tok-0b7a93e1c2d4f6"
    private static let signingKey =
      "whsec_" + Data((1...24).map { UInt8($0) }).base64EncodedString()

    /// All of it that must be found nowhere, in each form in which it travels.
    private static var secrets: [String] {
      let pairs = ["relay:\(password)", "proxy:\(password)", "user:\(password)"]
      return [token, second, password, String(signingKey.dropFirst(6))]
        + pairs.map { Data($0.utf8).base64EncodedString() }
    }

    /// An upstream for each way in which an attempt can end.
    private static func upstreams(
      _ upstream: TestUpstream, closed: UInt16
    ) -> [String: [String: any Sendable]] {
      let basic = Data("relay:\(password)".utf8).base64EncodedString()
      let common: [String: any Sendable] = [
        "headers": ["Authorization": "Bearer ${TOKEN}", "X-Basic-Auth": "Basic \(basic)"],
        "signing": ["keys": [signingKey]],
      ]
      let proxy = "http://proxy:\(password)@127.0.0.1"
      let places: [String: [String: any Sendable]] = [
        "answers": ["url": upstream.url],
        "basic": [
          "url": upstream.url, "headers": [:] as [String: String],
          "credentials": ["kind": "basic", "user": "user", "password": password],
        ],
        "bearer": [
          "url": upstream.url, "headers": [:] as [String: String],
          "credentials": ["kind": "bearer", "token": "${SECOND}"],
        ],
        "path": ["url": "\(upstream.url)/${TOKEN}"],
        "closed": ["url": "http://127.0.0.1:\(closed)"],
        "unresolved": ["url": "http://\(String(repeating: "a", count: 64)).invalid"],
        "plain": ["url": "https://127.0.0.1:\(upstream.port)"],
        "no-proxy": ["url": "http://upstream.invalid", "proxy": "\(proxy):\(closed)"],
        "tunnel": ["url": "https://upstream.invalid", "proxy": "\(proxy):\(upstream.port)"],
        "proxied": ["url": "http://upstream.invalid", "proxy": "\(proxy):\(upstream.port)"],
      ]
      return places.mapValues { place in
        common.merging(Relay.quick(upstream, place)) { _, given in given }
      }
    }

    @Test("are in no answer, error, log, event or status, however an attempt ends")
    func nowhere() async throws {
      let upstream = try TestUpstream { request in Self.behaviour(request) }
      let closed = try TestUpstream()
      closed.stop()
      let upstreams = Self.upstreams(upstream, closed: closed.port)
      let relay = try Relay(
        upstreams: upstreams, more: ["log": ["level": "debug"]],
        environment: ["TOKEN": Self.token, "SECOND": Self.second])
      try await relay.start()
      let listener = try await Listener(relay)
      let seen = Seen()
      try await withThrowingTaskGroup(of: [WireResponse].self) { group in
        for (name, path) in Self.paths(upstreams.keys.sorted()) {
          group.addTask { try await Self.answers(relay, name, path) }
        }
        for try await answers in group { for answer in answers { seen.add("answer", answer) } }
      }
      let device = relay.device()
      for path in ["/status", "/v1/envelopes?limit=200", "/readyz", "/v1/upstreams/answers/probe"] {
        seen.add(path, try await device.get(path))
      }
      try await listener.events("what happened") { $0.count > 10 }
      seen.add("events", listener.events.map(\.data).joined())
      seen.add("log", relay.log)
      seen.add("check", try await Self.check(relay))
      // The upstream did get them, so that they could have been seen.
      #expect(upstream.received.contains { $0["Authorization"] == "Bearer \(Self.token)" })
      #expect(upstream.received.contains { $0["Authorization"] == "Bearer \(Self.second)" })
      let pair = Data("user:\(Self.password)".utf8).base64EncodedString()
      #expect(upstream.received.contains { $0["Authorization"] == "Basic \(pair)" })
      #expect(!upstream.received.contains { $0["Authorization"]?.contains("sender") == true })
      #expect(upstream.received.contains { $0["Proxy-Authorization"] != nil })
      #expect(upstream.received.contains { $0.target.contains(Self.token) })
      #expect(seen.places > 40)
      for secret in Self.secrets { #expect(seen.holding(secret) == []) }
    }

    /// All that a device gets to see of one envelope.
    private static func answers(
      _ relay: Relay, _ name: String, _ path: String
    ) async throws -> [WireResponse] {
      let device = relay.device("\(name)\(path.dropFirst())")
      let answer = try await device.relay(
        "GET", path, upstream: name,
        headers: ["Prefer": "wait=1", "Authorization": "Digest of-the-sender"])
      let id = try #require(answer["Waystation-Id"], "\(name)\(path): \(answer)")
      return [
        answer, try await device.get("/v1/envelopes/\(id)"),
        try await device.get("/v1/envelopes/\(id)/response"),
        try await device.get("/v1/clients/\(device.name)"),
      ]
    }

    private static func paths(_ names: [String]) -> [(String, String)] {
      names.map { ($0, "/echo") }
        + ["/refuse", "/problem", "/retry", "/cut", "/never", "/long", "/redirect"].map {
          ("answers", $0)
        }
    }

    private static func behaviour(_ request: WireRequest) -> Behaviour {
      let echo =
        ([request.message.startLine]
        + request.message.fields.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
      let fields = [WireField(name: "X-Echo", value: request["Authorization"] ?? "")]
      switch request.target.split(separator: "/").last {
      case "refuse": return .answer(403, fields: fields, body: Array(echo.utf8))
      case "problem":
        let problem = #"{"type":"x","errorId":"\#(request["Authorization"] ?? "")"}"#
        let type = WireField(name: "Content-Type", value: "application/problem+json")
        return .answer(400, fields: [type], body: Array(problem.utf8))
      case "retry": return .answer(503, fields: fields, body: Array(echo.utf8))
      case "cut": return .cut
      case "never": return .never
      case "long":
        let padding = String(repeating: "x", count: 65536 - token.utf8.count + 3)
        return .answer(200, body: Array((padding + token + token).utf8))
      case "redirect":
        return .answer(302, fields: [WireField(name: "Location", value: "/\(token)?\(token)")])
      default: return .answer(200, fields: fields, body: Array(echo.utf8))
      }
    }

    private static func check(_ relay: Relay) async throws -> String {
      let path = relay.folder.path + "/config.json"
      let (_, output, errors) = try await Waystation.run(
        "check", "--config", path, environment: ["TOKEN": token, "SECOND": second])
      // A configuration with a mistake in every place where a credential can stand.
      let broken = """
        {"upstreams": {"a": {"url": "http://u:\(token)@x", "proxy": "\(token)",
          "credentials": {"kind": "bearer", "token": "\(second) x", "password": ["\(password)"]},
          "headers": {"Authorization": ["\(token)"], "X": "\(token)\\n"},
          "signing": {"keys": ["whsec_\(token)"]}}}}
        """
      let file = try relay.folder.write("broken.json", broken)
      let second = try await Waystation.run("check", "--config", file)
      #expect(second.ending != .exit(0))
      return output + errors + second.output + second.errors
    }

    /// Everything that was seen, and where.
    private final class Seen {
      private var texts: [(place: String, text: String)] = []
      var places: Int { texts.count }

      func add(_ place: String, _ text: String) { texts.append((place, text)) }

      func add(_ place: String, _ answer: WireResponse) {
        let fields = answer.message.fields.map { "\($0.name): \($0.value)" }
        add(place, fields.joined(separator: "\n") + "\n" + answer.text)
      }

      func holding(_ secret: String) -> [String] {
        texts.filter { $0.text.contains(secret) }.map(\.place)
      }
    }
  }
}
