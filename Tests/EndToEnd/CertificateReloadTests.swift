import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Renewing a certificate", .serialized, .ofNoStore)
  struct CertificateReload {
    @Test("new connections see the new one, and those that exist go on")
    func reload() async throws {
      let secured = try await SecuredRelay.started()
      let kept = try secured.tunnel()
      #expect(try await kept.request("GET", "/healthz").status == 200)
      #expect(try await shown(secured).contains("CN = relay-1"))
      let new = try await secured.authority.sign("new", subject: "/CN=relay-2")
      try put(new, inPlaceOf: secured.pair)
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "certificate reloaded")
      #expect(try await shown(secured).contains("CN = relay-2"))
      #expect(try await secured.tunnel().request("GET", "/healthz").status == 200)
      #expect(try await kept.request("GET", "/healthz").status == 200)
    }

    @Test(
      "one that cannot be used, or does not hold, is refused with the reason; the old one goes on")
    func badReload() async throws {
      let secured = try await SecuredRelay.started()
      let kept = try secured.tunnel()
      let other = try await secured.authority.sign("other", subject: "/CN=relay-2")
      let old = try await secured.authority.sign(
        "old", subject: "/CN=relay-3", years: (2001, 2002))
      // Only the certificate is replaced: it does not belong to the key that still stands there.
      try replace(secured.pair.certificate, with: other.certificate)
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "is not the key of the first certificate")
      try put(old, inPlaceOf: secured.pair)
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "the certificate of relay-3 has expired")
      try FileManager.default.removeItem(atPath: secured.pair.certificate)
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "cannot be read: No such file")
      try "nonsense".write(
        toFile: secured.pair.certificate, atomically: true, encoding: .utf8)
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "holds no certificate in PEM form")
      #expect(try await shown(secured).contains("CN = relay-1"))
      #expect(try await kept.request("GET", "/healthz").status == 200)
      let status = try await kept.request("GET", "/status").json()
      let needs = try #require(status["needs"] as? [[String: Any]])
      let refused = try #require(needs.first { $0["kind"] as? String == "configuration-refused" })
      #expect((refused["cause"] as? String)?.contains("holds no certificate in PEM form") == true)
      let good = try await secured.authority.sign("good", subject: "/CN=relay-4")
      try put(good, inPlaceOf: secured.pair)
      secured.relay.signal(SIGHUP)
      try await eventually("a good one ends the need") {
        let needs = try await kept.request("GET", "/status").json()["needs"] as? [[String: Any]]
        return needs?.contains { $0["kind"] as? String == "configuration-refused" } == false
          ? true : nil
      }
    }

    @Test(
      "a pipe in the place of a key, or of the configuration, is refused, and waited for by nobody")
    func pipes() async throws {
      let secured = try await SecuredRelay.started()
      let relay = secured.relay
      for path in [secured.pair.key, relay.folder.path + "/config.json"] {
        let kept = FileManager.default.contents(atPath: path)
        try FileManager.default.removeItem(atPath: path)
        try #require(mkfifo(path, 0o600) == 0)
        relay.signal(SIGHUP)
        try await relay.log(
          holds: "\(path)\(path.hasSuffix(".json") ? "" : ":") is no regular file")
        #expect(try await secured.tunnel().request("GET", "/healthz").status == 200)
        try FileManager.default.removeItem(atPath: path)
        try #require(kept).write(to: URL(fileURLWithPath: path))
      }
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
    }

    @Test("a relay starts with one that has expired, and says so until there is a better one")
    func expiredAtStart() async throws {
      let authority = try await CertificateAuthority()
      let pair = try await authority.sign("relay", subject: "/CN=relay-1", years: (2001, 2002))
      let relay = try Relay(
        upstreams: ["default": Relay.quick(try TestUpstream())],
        listen: [
          ["address": "127.0.0.1:0", "tls": pair.listener] as [String: any Sendable], "127.0.0.1:0",
        ])
      try await relay.start()
      let plain = Device("device-1", port: relay.port(of: 1))
      let stale = try await plain.get("/readyz")
      #expect(stale.status == 200)
      let warnings = try stale.json()["warnings"] as? [String]
      #expect(warnings?.count == 1)
      #expect(warnings?.first?.contains("the certificate of relay-1 has expired") == true)
      try put(try await authority.sign("new", subject: "/CN=relay-1"), inPlaceOf: pair)
      relay.signal(SIGHUP)
      try await relay.log(holds: "certificate reloaded")
      try await eventually("it is not said any more that it has expired") {
        let warnings = try await plain.get("/readyz").json()["warnings"] as? [String]
        return warnings?.contains { $0.contains("has expired") } == true ? nil : true
      }
    }

    @Test("check reads certificates and keys, and says what to do about them")
    func check() async throws {
      let authority = try await CertificateAuthority()
      let good = try await authority.sign("good", subject: "/CN=relay-1")
      let other = try await authority.sign("other", subject: "/CN=relay-2")
      let old = try await authority.sign("old", subject: "/CN=relay-3", years: (2001, 2002))
      let future = try await authority.sign("future", subject: "/CN=relay-4", years: (2090, 2091))
      let locked = authority.folder.path + "/locked.key"
      let words = [
        "-c", "openssl pkey -in \(good.key) -aes128 -passout pass:secret -out \(locked)",
      ]
      #expect(try await ChildProcess("sh", words).ending() == .exit(0))
      chmod(good.key, 0o604)
      let fine = try await check(good)
      #expect(fine.ending == .exit(0), "\(fine.errors)")
      #expect(fine.output.contains("https://127.0.0.1:0, TLS 1.2 and later"))
      #expect(fine.errors.contains("every user of this machine can read the key"))
      #expect(fine.errors.contains("expires soon"))
      for (certificate, key, reason) in [
        ("/nowhere/a.pem", good.key, "/nowhere/a.pem: cannot be read: No such file"),
        (good.certificate, "/nowhere/a.key", "/nowhere/a.key: cannot be read: No such file"),
        (good.certificate, other.key, "is not the key of the first certificate in"),
        (good.key, good.key, "holds no certificate in PEM form"),
        (good.certificate, good.certificate, "holds no private key in PEM form"),
        (good.certificate, locked, "is protected by a passphrase"),
        (old.certificate, old.key, "has expired, at 2002-01-01T00:00:00.000Z"),
        (future.certificate, future.key, "does not hold before 2090-01-01T00:00:00.000Z"),
      ] {
        let bad = try await check(.init(certificate: certificate, key: key))
        #expect(bad.ending == .exit(1))
        #expect(bad.errors.contains("listen.tls: ") && bad.errors.contains(reason), "\(bad.errors)")
      }
    }

    private func check(
      _ pair: CertificateAuthority.Pair
    ) async throws -> (ending: Ending, output: String, errors: String) {
      let folder = try TemporaryFolder()
      let config: [String: any Sendable] = [
        "listen": ["address": "127.0.0.1:0", "tls": pair.listener] as [String: any Sendable],
        "upstreams": ["default": ["url": "http://127.0.0.1:1"]],
      ]
      let path = try folder.write(
        "config.json", String(decoding: Device.json(config), as: UTF8.self))
      return try await Waystation.run("check", "--config", path)
    }

    /// What a new connection is shown.
    private func shown(_ secured: SecuredRelay) async throws -> String {
      try await Handshake.of(port: secured.port)
    }

    private func put(
      _ new: CertificateAuthority.Pair, inPlaceOf old: CertificateAuthority.Pair
    ) throws {
      try replace(old.certificate, with: new.certificate)
      try replace(old.key, with: new.key)
    }

    private func replace(_ path: String, with other: String) throws {
      try String(contentsOfFile: other, encoding: .utf8)
        .write(toFile: path, atomically: true, encoding: .utf8)
    }
  }
}
