import Foundation
import Testing

extension EndToEnd {
  @Suite("Trying upstreams", .serialized)
  struct UpstreamTrials {
    @Test("says of each what came of it, sends no envelope, and ends with 1 unless all are good")
    func tried() async throws {
      let upstream = try TestUpstream { request in
        switch request.target {
        case "/good/": .answer(405)
        case "/trouble/": .answer(503)
        case "/hangs/": .never
        default: .answer(request["Authorization"] == "Bearer right" ? 200 : 401)
        }
      }
      let gone = try TestUpstream()
      gone.stop()
      let authority = try await CertificateAuthority()
      let port = try TestUpstream.freePort()
      let secure = try await SecureUpstream(
        port: port, try await authority.sign("server", subject: "/CN=server"))
      let right: [String: any Sendable] = ["kind": "bearer", "token": "right"]
      let wrong: [String: any Sendable] = ["kind": "bearer", "token": "wr0ng-t0ken"]
      let oauth: [String: any Sendable] = [
        "kind": "oauth2", "tokenURL": "\(gone.url)/token", "clientID": "a", "clientSecret": "b",
      ]
      let https = "https://127.0.0.1:\(port)"
      let good: [String: [String: any Sendable]] = [
        "odd": ["url": "\(upstream.url)/good"],
        "open": ["url": "\(upstream.url)/senders"],
        "right": ["url": "\(upstream.url)/mine", "credentials": right],
        "secure": ["url": https, "certificateAuthorities": authority.certificate],
      ]
      let bad: [String: [String: any Sendable]] = [
        "gone": ["url": gone.url], "hangs": ["url": "\(upstream.url)/hangs", "attemptTimeoutMs": 500,
          "connectTimeoutMs": 500],
        "nameless": ["url": "http://nowhere.invalid"],
        "token": ["url": upstream.url, "credentials": oauth],
        "trouble": ["url": "\(upstream.url)/trouble"], "untrusted": ["url": https],
        "wrong": ["url": "\(upstream.url)/mine", "credentials": wrong],
      ]
      let fine = try await check(good)
      #expect(fine.ending == .exit(0), "\(fine.errors)")
      for (name, words) in [
        ("odd", "answered 405"), ("open", "answered 401"), ("right", "answered 200"),
        ("secure", "answered 200"),
      ] {
        #expect(fine.output.contains("upstream \(name): \(words) within "), "\(fine.output)")
      }
      let all = try await check(good.merging(bad) { first, _ in first })
      #expect(all.ending == .exit(1))
      #expect(all.output.contains("upstream right: answered 200"))
      for (name, words) in [
        ("gone", "no connection to 127.0.0.1:\(gone.port) could be made: connection refused"),
        ("hangs", "127.0.0.1:\(upstream.port) took too long"),
        ("nameless", "the name of nowhere.invalid could not be resolved"),
        (
          "token",
          "no access token: no connection to 127.0.0.1:\(gone.port) could be made: connection refused"
        ), ("trouble", "answered 503"),
        ("untrusted", "the certificate of 127.0.0.1:\(port) is not trusted"),
        ("wrong", "answered 401"),
      ] {
        #expect(all.errors.contains("upstream \(name): \(words)"), "\(name): \(all.errors)")
      }
      #expect(all.errors.contains(" ms: it does not accept the relay's credentials"))
      #expect(!(all.output + all.errors).contains("wr0ng-t0ken"))
      #expect(upstream.received.allSatisfy { $0.method == "HEAD" && $0.message.body.isEmpty })
      let fields = upstream.received.flatMap { $0.message.fields.map { $0.name.lowercased() } }
      #expect(Set(fields).subtracting(["host", "authorization"]).isEmpty, "\(Set(fields))")
      try await secure.stop()
    }

    @Test("nothing is tried while the configuration is wrong, and without the option nothing at all")
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

    private func check(
      _ upstreams: [String: [String: any Sendable]]
    ) async throws -> (ending: Ending, output: String, errors: String) {
      let folder = try TemporaryFolder()
      let text = String(decoding: Device.json(["upstreams": upstreams]), as: UTF8.self)
      let file = try folder.write("config.json", text)
      return try await Waystation.run("check", "--config", file, "--try-upstreams")
    }
  }
}
