import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite(
    "Upstreams that do not accept the relay's certificate", .serialized,
    .enabled(if: StrictServer.isPossible, "nginx is not installed"), .ofNoStore)
  struct RefusedIdentities {
    typealias Settings = [String: any Sendable]

    /// The forms in which envelopes go to nginx: each by itself, and together.
    static let batches: [Settings?] = [
      nil, ["format": "json"], ["format": "json", "gzip": true],
    ]

    /// A relay whose upstream is nginx, which takes certificates of `clients` alone.
    private final class Stand {
      let clients: CertificateAuthority
      let servers: CertificateAuthority
      let server: StrictServer
      let relay: Relay

      init() async throws {
        clients = try await CertificateAuthority()
        servers = try await CertificateAuthority(name: "servers")
        server = try await StrictServer(
          try await servers.sign("server", subject: "/CN=server"), for: clients)
        relay = try Relay(upstreams: [:])
      }

      /// Writes the relay's configuration.
      func configure(_ pair: CertificateAuthority.Pair?, _ more: Settings = [:]) throws {
        var settings: Settings = [
          "url": "https://127.0.0.1:\(server.port)", "certificateAuthorities": servers.certificate,
          "reachability": ["firstProbeDelayMs": 3_600_000, "maxProbeDelayMs": 3_600_000],
        ]
        if let pair {
          settings["clientCertificate"] = pair.certificate
          settings["clientKey"] = pair.key
        }
        try relay.configure(upstreams: ["default": settings.merging(more) { $1 }])
      }

      /// Waits for the need, and returns its cause.
      func cause(count: Int) async throws -> String? {
        try await eventually("a need") { [relay] in
          let status = try await relay.device("operator").get("/status").json()
          let needs = status["needs"] as? [[String: Any]]
          return needs?.first {
            $0["kind"] as? String == "credentials-refused" && $0["count"] as? Int == count
          }
        }["cause"] as? String
      }

      func check() async throws -> (ending: Ending, output: String, errors: String) {
        try await Waystation.run(
          "check", "--config", relay.folder.path + "/config.json", "--try-upstreams")
      }
    }

    @Test(
      "what nginx answers with 400 to no certificate or another's is no refusal of envelopes",
      arguments: [false, true], Self.batches)
    func refused(isShown: Bool, batch: Settings?) async throws {
      let stand = try await Stand()
      let stranger = try await stand.servers.sign("stranger", subject: "/CN=stranger")
      // It is known however little is kept of answers.
      var more: Settings = ["responseBodyBytesMax": 0]
      if let batch { more["batch"] = batch }
      try stand.configure(isShown ? stranger : nil, more)
      try await stand.relay.start()
      let device = stand.relay.device("operator")
      let posts: [Settings] = (0..<30).map {
        ["client": "d-\($0 % 7)", "path": "/", "body": $0, "onFailure": "skip"]
      }
      #expect(try await device.post(batch: posts).status == 202)
      let words =
        isShown
        ? "refused the relay's client certificate: it answered 400 (The SSL certificate error)"
        : "asks for a client certificate: it answered 400 (No required SSL certificate was sent)"
      let sentence = "127.0.0.1:\(stand.server.port) \(words)"
      #expect(try await stand.cause(count: 30) == sentence)
      let tried = try await device.request("POST", "/v1/upstreams/default/try").json()
      #expect(tried["works"] as? Bool == false && tried["finding"] as? String == sentence)
      let checked = try await stand.check()
      #expect(checked.ending == .exit(1))
      #expect(checked.errors.contains("upstream default: \(sentence)"), "\(checked.errors)")
      // Once it is mended, all go on at once: the next probe would come in an hour.
      try stand.configure(try await stand.clients.sign("relay", subject: "/CN=relay-1"), more)
      stand.relay.signal(SIGHUP)
      try await eventually("all are delivered") {
        let store = try await device.get("/status").json()["store"] as? [String: Any]
        return (store?["envelopes"] as? [String: Int])?["delivered"] == 30 ? true : nil
      }
      let good = try await stand.check()
      #expect(good.ending == .exit(0) && good.output.contains("upstream default: answered 200"))
    }

    @Test(
      "a relay that runs tries an upstream with the files in force, and check with those on disk")
    func inForce() async throws {
      let stand = try await Stand()
      let pair = try await stand.clients.sign("relay", subject: "/CN=relay-1")
      try stand.configure(pair)
      try await stand.relay.start()
      let device = stand.relay.device("operator")
      let files = [pair.certificate, pair.key, stand.servers.certificate]
      let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
      for file in files {
        try "half of a fi".write(toFile: file, atomically: false, encoding: .utf8)
      }
      for _ in 0..<2 {
        let tried = try await device.request("POST", "/v1/upstreams/default/try").json()
        #expect(tried["works"] as? Bool == true, "\(tried)")
        #expect(try await stand.check().ending == .exit(1))
        for file in files { try? FileManager.default.removeItem(atPath: file) }
      }
      for (file, text) in zip(files, texts) {
        try text.write(toFile: file, atomically: false, encoding: .utf8)
      }
      // And the other way round: what lies on disk is good, and what is in force is not.
      let stranger = try await stand.servers.sign("stranger", subject: "/CN=stranger")
      let right = try String(contentsOfFile: stranger.certificate, encoding: .utf8)
      let key = try String(contentsOfFile: stranger.key, encoding: .utf8)
      try right.write(toFile: pair.certificate, atomically: true, encoding: .utf8)
      try key.write(toFile: pair.key, atomically: true, encoding: .utf8)
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""event":"configuration reloaded""#)
      for (file, text) in zip(files, texts) {
        try text.write(toFile: file, atomically: true, encoding: .utf8)
      }
      let tried = try await device.request("POST", "/v1/upstreams/default/try").json()
      #expect(tried["works"] as? Bool == false, "\(tried)")
      #expect(try await stand.check().ending == .exit(0))
    }
  }
}
