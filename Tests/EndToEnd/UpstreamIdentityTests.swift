import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Certificates that upstreams are shown", .serialized, .ofNoStore)
  struct UpstreamIdentities {
    @Test(
      "a renewed one is shown from a SIGHUP on, and no kept connection with the old one is used",
      .enabled(if: StrictServer.isPossible, "nginx is not installed"))
    func renewed() async throws {
      let stand = try await Stand()
      #expect(try await stand.shown() == "CN=relay-1 on 1")
      #expect(try await stand.shown() == "CN=relay-1 on 1", "the connection is kept")
      try stand.replace(with: try await stand.clients.sign("new", subject: "/CN=relay-2"))
      #expect(try await stand.shown() == "CN=relay-1 on 1", "nothing was said to the relay yet")
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""event":"configuration reloaded""#)
      #expect(stand.relay.log.contains(#""changed":"upstreams.default""#))
      #expect(try await stand.shown() == "CN=relay-2 on 2")
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: "nothing has changed")
      #expect(try await stand.shown() == "CN=relay-2 on 2", "the same files change nothing")
    }

    @Test(
      "one that does not hold is refused with the reason, and the old one goes on",
      .enabled(if: StrictServer.isPossible, "nginx is not installed"))
    func refused() async throws {
      let stand = try await Stand()
      let other = try await stand.clients.sign("other", subject: "/CN=relay-2")
      let old = try await stand.clients.sign("old", subject: "/CN=relay-3", years: (2001, 2002))
      for (pair, key, reason) in [
        (
          .init(certificate: other.certificate, key: stand.pair.key), "clientKey",
          "is not the key of the first certificate in"
        ),
        (old, "clientCertificate", "the certificate of relay-3 has expired"),
      ] as [(CertificateAuthority.Pair, String, String)] {
        try stand.replace(with: pair)
        stand.relay.signal(SIGHUP)
        try await stand.relay.log(holds: reason)
        #expect(stand.relay.log.contains("upstreams.default.\(key): "))
        #expect(try await stand.shown() == "CN=relay-1 on 1")
        let checked = try await Waystation.run(
          "check", "--config", stand.relay.folder.path + "/config.json")
        #expect(checked.ending == .exit(1))
        #expect(
          checked.errors.contains("upstreams.default.\(key): ") && checked.errors.contains(reason),
          "\(checked.errors)")
      }
    }

    @Test("its end is among the needs and the metrics, under the upstream's name")
    func ends() async throws {
      let clients = try await CertificateAuthority()
      let pair = try await clients.sign("relay", subject: "/CN=relay-1")
      let relay = try Relay(
        upstreams: [
          "orders": [
            "url": "https://127.0.0.1:1", "clientCertificate": pair.certificate,
            "clientKey": pair.key,
          ]
        ])
      try await relay.start()
      let what = "\(pair.certificate): the certificate of relay-1 for orders"
      let device = relay.device("operator")
      let metrics = try await device.get("/metrics").text
      #expect(
        metrics.contains("waystation_certificate_remaining_seconds{certificate=\"\(what)\"} 17"))
      let needs = try await device.get("/status").json()["needs"] as? [[String: Any]] ?? []
      let ending = needs.first { $0["kind"] as? String == "certificate-ending" }
      #expect((ending?["title"] as? String)?.hasPrefix(what + " ends in one day") == true)
    }

    @Test("a server that is shown none, or speaks too old a version of TLS, is told of in words")
    func words() async throws {
      let clients = try await CertificateAuthority()
      let servers = try await CertificateAuthority(name: "servers")
      let right = try await servers.sign("server", subject: "/CN=server")
      let stranger = try await servers.sign("stranger", subject: "/CN=stranger")
      let ports = try (0..<2).map { _ in try ReservedPort.kept() }
      let strict = try await SecureUpstream(
        port: ports[0], right,
        more: ["-Verify", "1", "-verify_return_error", "-CAfile", clients.certificate])
      let old = try await SecureUpstream(port: ports[1], right, more: ["-tls1_2"])
      let common: [String: any Sendable] = ["certificateAuthorities": servers.certificate]
      let url = "https://127.0.0.1:"
      let cases: [String: ([String: any Sendable], String)] = [
        "none": (["url": "\(url)\(ports[0])"], "asks for a client certificate"),
        "stranger": (
          [
            "url": "\(url)\(ports[0])", "clientCertificate": stranger.certificate,
            "clientKey": stranger.key,
          ], "does not accept the client certificate"
        ),
        "old": (
          ["url": "\(url)\(ports[1])", "minTLSVersion": "1.3"], "share no version of TLS"
        ),
      ]
      let relay = try Relay(
        upstreams: cases.mapValues { $0.0.merging(common) { first, _ in first } })
      try await relay.start()
      for (name, (_, words)) in cases {
        let device = relay.device(name)
        let posted = try await device.post(["path": "/", "method": "GET", "upstream": name])
        let id = try #require(posted.json()["id"] as? String)
        let view = try await UpstreamCertificates.view(of: id, device) { view in
          (view["attempts"] as? [[String: Any]])?.isEmpty == false
        }
        let attempt = (view["attempts"] as? [[String: Any]])?.first
        #expect((attempt?["error"] as? String)?.contains(words) == true, "\(view)")
        #expect(UpstreamCertificates.isWaiting(view), "\(view)")
      }
      for name in ["none", "stranger"] {
        try await eventually("a need of \(name)") {
          let status = try await relay.device("operator").get("/status").json()
          let needs = status["needs"] as? [[String: Any]] ?? []
          let need = needs.first { $0["upstream"] as? String == name }
          return need?["kind"] as? String == "credentials-refused" ? true : nil
        }
      }
      try await strict.stop()
      try await old.stop()
    }

    /// A relay before a server that demands a certificate.
    private final class Stand {
      let clients: CertificateAuthority
      let pair: CertificateAuthority.Pair
      let relay: Relay
      private let servers: CertificateAuthority
      private let server: StrictServer

      init() async throws {
        clients = try await CertificateAuthority()
        servers = try await CertificateAuthority(name: "servers")
        let pair = try await clients.sign("relay", subject: "/CN=relay-1")
        self.pair = pair
        server = try await StrictServer(
          try await servers.sign("server", subject: "/CN=server"), for: clients)
        relay = try Relay(
          upstreams: [
            "default": [
              "url": "https://127.0.0.1:\(server.port)",
              "certificateAuthorities": servers.certificate, "clientCertificate": pair.certificate,
              "clientKey": pair.key, "minTLSVersion": "1.3",
            ]
          ])
        try await relay.start()
      }

      /// What the server has been shown, and on which of its connections.
      func shown() async throws -> String {
        try await relay.device().relay("GET", "/", headers: ["Prefer": "wait=20"]).text
      }

      func replace(with other: CertificateAuthority.Pair) throws {
        for (path, new) in [(pair.certificate, other.certificate), (pair.key, other.key)]
        where path != new {
          try String(contentsOfFile: new, encoding: .utf8)
            .write(toFile: path, atomically: true, encoding: .utf8)
        }
      }
    }
  }
}
