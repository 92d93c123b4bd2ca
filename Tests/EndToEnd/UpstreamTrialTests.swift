import Compression
import Foundation
import Testing

extension EndToEnd {
  @Suite("Trying upstreams", .serialized, .ofNoStore)
  struct UpstreamTrials {
    typealias Upstreams = [String: [String: any Sendable]]

    @Test("says of each what it answered, and ends with 0 if all are good")
    func good() async throws {
      let upstream = try Self.upstream()
      // A relay is a server with TLS, too.
      let secured = try await SecuredRelay.started()
      let run = try await check([
        "odd": ["url": "\(upstream.url)/odd"],
        "open": ["url": "\(upstream.url)/senders"],
        "right": ["url": "\(upstream.url)/mine", "credentials": Self.bearer("right")],
        "secure": [
          "url": "https://127.0.0.1:\(secured.port)",
          "certificateAuthorities": secured.authority.certificate,
        ],
      ])
      #expect(run.ending == .exit(0), "\(run.errors)")
      for (name, status) in [("odd", 405), ("open", 401), ("right", 200), ("secure", 404)] {
        let line = "upstream \(name): answered \(status) within "
        #expect(run.output.contains(line), "\(run.output)")
      }
    }

    @Test("says of each why envelopes could not be sent, and ends with 1 unless all are good")
    func bad() async throws {
      let upstream = try Self.upstream()
      let gone = try TestUpstream()
      gone.stop()
      let secured = try await SecuredRelay.started()
      let oauth: [String: any Sendable] = [
        "kind": "oauth2", "tokenURL": "\(gone.url)/token", "clientID": "a", "clientSecret": "b",
      ]
      let run = try await check([
        "gone": ["url": gone.url],
        "hangs": [
          "url": "\(upstream.url)/hangs", "attemptTimeoutMs": 500, "connectTimeoutMs": 500,
        ],
        "nameless": ["url": "http://nowhere.invalid"],
        "right": ["url": "\(upstream.url)/mine", "credentials": Self.bearer("right")],
        "token": ["url": upstream.url, "credentials": oauth],
        "trouble": ["url": "\(upstream.url)/trouble"],
        "untrusted": ["url": "https://127.0.0.1:\(secured.port)"],
      ])
      #expect(run.ending == .exit(1))
      #expect(run.output.contains("upstream right: answered 200"))
      let refused = "no connection to 127.0.0.1:\(gone.port) could be made: connection refused"
      for (name, words) in [
        ("gone", refused), ("hangs", "127.0.0.1:\(upstream.port) took too long"),
        ("nameless", "the name of nowhere.invalid could not be resolved"),
        ("token", "no access token: \(refused)"), ("trouble", "answered 503"),
        ("untrusted", "the certificate of 127.0.0.1:\(secured.port) is not trusted"),
      ] {
        #expect(run.errors.contains("upstream \(name): \(words)"), "\(name): \(run.errors)")
      }
    }

    @Test("shows the relay's credentials, says that they are refused, and not what they are")
    func refused() async throws {
      let upstream = try Self.upstream()
      let run = try await check([
        "wrong": ["url": "\(upstream.url)/mine", "credentials": Self.bearer("wr0ng-t0ken")]
      ])
      #expect(run.ending == .exit(1))
      #expect(run.errors.contains("upstream wrong: answered 401"), "\(run.errors)")
      #expect(run.errors.contains(" ms: it does not accept the relay's credentials"))
      #expect(!(run.output + run.errors).contains("wr0ng-t0ken"))
    }

    @Test("a relay's refusal that is gzip is told without the credentials that it repeats")
    func packed() async throws {
      let upstream = try TestUpstream { request in
        let sent = request["Authorization"] ?? ""
        let type = "urn:waystation:problem:forbidden"
        let problem = #"{"type": "\#(type)", "status": 403, "detail": "no \#(sent)"}"#
        let field = WireField(name: "Content-Encoding", value: "gzip")
        guard let body = try? GzipEncoder.encode(Array(problem.utf8)) else { return .cut }
        return .answer(403, fields: [field], body: body)
      }
      let run = try await check([
        "next": [
          "url": upstream.url, "credentials": Self.bearer("wr0ng-t0ken"),
          "batch": ["format": "waystation"] as [String: any Sendable],
        ]
      ])
      #expect(run.errors.contains("(no Bearer ***"), "\(run.errors)")
      #expect(!(run.output + run.errors).contains("wr0ng-t0ken"))
    }

    @Test("an answer to plain text where TLS is spoken is not taken for the upstream's")
    func plainText() async throws {
      let text = "Client sent an HTTP request to an HTTPS server.\n"
      // As Go's `net/http` answers, before it has read a request.
      let upstream = try TestUpstream { _ in .bytes("HTTP/1.0 400 Bad Request\r\n\r\n" + text) }
      // One that answers with what it was sent, as any device may have it do.
      let other = try TestUpstream { _ in .answer(400, body: Array(text.utf8)) }
      let secured = try await SecuredRelay.started()
      let run = try await check([
        "tls": ["url": upstream.url], "odd": ["url": other.url],
        "relay": ["url": "http://127.0.0.1:\(secured.port)"],
      ])
      #expect(run.ending == .exit(1))
      let words =
        "upstream tls: 127.0.0.1:\(upstream.port) speaks TLS, and its url begins with http"
      #expect(run.errors.contains(words), "\(run.errors)")
      let own = "upstream relay: 127.0.0.1:\(secured.port) speaks TLS, and its url begins with http"
      #expect(run.errors.contains(own), "\(run.errors)")
      #expect(run.output.contains("upstream odd: answered 400 within "), "\(run.output)")
      #expect(run.output.contains(" ms; it can be reached"))
    }

    @Test("an upstream gets one HEAD request, and no envelope")
    func noEnvelope() async throws {
      let upstream = try Self.upstream()
      _ = try await check(["right": ["url": upstream.url, "credentials": Self.bearer("right")]])
      let requests = upstream.received
      #expect(requests.count == 1)
      #expect(requests.allSatisfy { $0.method == "HEAD" && $0.message.body.isEmpty })
      let fields = requests.flatMap { $0.message.fields.map { $0.name.lowercased() } }
      #expect(Set(fields) == ["host", "authorization"])
    }

    @Test("nothing is tried if the configuration is wrong, or without the option")
    func untried() async throws {
      let upstream = try TestUpstream()
      let wrong = try await check(["a": ["url": upstream.url, "clientKey": "/k"]])
      #expect(wrong.ending == .exit(1))
      let folder = try TemporaryFolder()
      let file = try folder.write(
        "config.json", #"{"upstreams": {"a": {"url": "\#(upstream.url)"}}}"#)
      #expect(try await Waystation.run("check", "--config", file).ending == .exit(0))
      #expect(upstream.received.isEmpty && upstream.connectionCount == 0)
    }

    @Test("a running relay tries an upstream for an operator, and leaves alone what waits for it")
    func running() async throws {
      let upstream = try Self.upstream()
      let gone = try TestUpstream()
      gone.stop()
      let relay = try Relay(upstreams: [
        "right": ["url": "\(upstream.url)/mine", "credentials": Self.bearer("right")],
        "gone": ["url": gone.url],
      ])
      try await relay.start()
      let device = relay.device("a")
      _ = try await device.request("POST", "/v1/upstreams/right/pause")
      #expect(try await device.post(["path": "/a", "upstream": "right"]).status == 202)
      let answer = try await device.request("POST", "/v1/upstreams/right/try")
      #expect(answer.status == 200)
      let found = try answer.json()
      #expect(found["works"] as? Bool == true && found["upstream"] as? String == "right")
      #expect((found["finding"] as? String)?.hasPrefix("answered 200 within ") == true)
      #expect(upstream.received.map(\.method) == ["HEAD"])
      let url = "http://127.0.0.1:\(relay.port)"
      let good = try await Waystation.run("upstreams", "try", "right", "--server", url)
      #expect(good.ending == .exit(0) && good.output.hasPrefix("upstream right: answered 200"))
      let bad = try await Waystation.run("upstreams", "try", "gone", "--server", url)
      #expect(bad.ending == .exit(1))
      let refused = "no connection to 127.0.0.1:\(gone.port) could be made: connection refused"
      #expect(bad.output == "upstream gone: \(refused)\n")
      let acts = try await device.get("/v1/audit").text
      #expect(acts.contains(refused) && acts.contains(#""action":"try""#), "\(acts)")
      #expect(try await device.request("POST", "/v1/upstreams/other/try").status == 404)
    }

    /// Answers by the path of its base URL, and takes the token "right" everywhere else.
    private static func upstream() throws -> TestUpstream {
      try TestUpstream { request in
        switch request.target {
        case "/odd/": .answer(405)
        case "/trouble/": .answer(503)
        case "/hangs/": .never
        default: .answer(request["Authorization"] == "Bearer right" ? 200 : 401)
        }
      }
    }

    private static func bearer(_ token: String) -> [String: any Sendable] {
      ["kind": "bearer", "token": token]
    }

    private func check(
      _ upstreams: Upstreams
    ) async throws -> (ending: Ending, output: String, errors: String) {
      let folder = try TemporaryFolder()
      let text = String(decoding: try Device.json(["upstreams": upstreams]), as: UTF8.self)
      let file = try folder.write("config.json", text)
      return try await Waystation.run("check", "--config", file, "--try-upstreams")
    }
  }
}
