import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Clients' certificates", .serialized)
  struct ClientCertificates {
    /// A relay that asks for certificates, and its authorities.
    private func secured(isRequired: Bool, checksRevocation: Bool = false) async throws
      -> SecuredRelay
    {
      try await SecuredRelay.started { authority in
        var asked: [String: any Sendable] = [
          "authorities": authority.certificate, "required": isRequired,
        ]
        if checksRevocation {
          let lost = try await authority.sign("lost", subject: "/CN=truck-8", names: "DNS:truck-8")
          try await authority.revoke(lost)
          asked["revocations"] = try await authority.revocations()
        }
        return ["clientCertificates": asked]
      }
    }

    private func options(_ pair: CertificateAuthority.Pair) -> [String] {
      ["-cert", pair.certificate, "-key", pair.key]
    }

    /// Whether a client is served; false where it is turned away in the handshake.
    private func isServed(_ secured: SecuredRelay, _ options: [String]) async throws -> Bool {
      let tunnel = try secured.tunnel(options)
      do {
        return try await tunnel.request("GET", "/healthz").status == 200
      } catch is ConnectionEnded {
        return false
      } catch is ProtocolViolation {
        return false
      } catch is SocketError {
        return false
      }
    }

    @Test("where one is required, only one that holds and that the authority has signed is served")
    func required() async throws {
      let secured = try await secured(isRequired: true)
      let authority = secured.authority
      let good = try await authority.sign("good", subject: "/CN=truck-7", names: "DNS:truck-7")
      let old = try await authority.sign(
        "old", subject: "/CN=truck-7", names: "DNS:truck-7", years: (2001, 2002))
      let stranger = try await CertificateAuthority(name: "stranger")
      let forged = try await stranger.sign("forged", subject: "/CN=truck-7", names: "DNS:truck-7")
      for version in ["-tls1_2", "-tls1_3"] {
        #expect(try await isServed(secured, [version] + options(good)))
        #expect(try await !isServed(secured, [version]))
        #expect(try await !isServed(secured, [version] + options(old)))
        #expect(try await !isServed(secured, [version] + options(forged)))
      }
      // One line a second at most says why: the first of them is surely there.
      try await secured.relay.log(holds: "peer did not return a certificate")
      #expect(try await secured.plain.get("/healthz").status == 200)
    }

    @Test("where it is not, one may come without, but not with a bad one")
    func optional() async throws {
      let secured = try await secured(isRequired: false)
      let good = try await secured.authority.sign(
        "good", subject: "/CN=truck-7", names: "DNS:truck-7")
      let stranger = try await CertificateAuthority(name: "stranger")
      let forged = try await stranger.sign("forged", subject: "/CN=truck-7", names: "DNS:truck-7")
      #expect(try await isServed(secured, []))
      #expect(try await isServed(secured, options(good)))
      #expect(try await !isServed(secured, options(forged)))
      try await secured.relay.log(holds: "certificate verify failed")
    }

    @Test(
      "the field that is configured names the client, which is held to it",
      arguments: [
        ("commonName", "truck-7"), ("dnsName", "truck-8"), ("uri", "urn:truck:9"),
        ("email", "truck-10@example.com"),
      ])
    func name(field: String, expected: String) async throws {
      let secured = try await SecuredRelay.started { authority in
        let asked = ["authorities": authority.certificate, "clientName": field]
        return ["clientCertificates": asked]
      }
      let pair = try await secured.authority.sign(
        "good", subject: "/CN=truck-7",
        names: "DNS:truck-8,URI:urn:truck:9,email:truck-10@example.com")
      let tunnel = try secured.tunnel(options(pair))
      let json = ["Content-Type": "application/json"]
      let posted = try await tunnel.request(
        "POST", "/v1/envelopes", headers: json, body: Device.json(["path": "/"]))
      #expect(posted.status == 202)
      #expect(try posted.json()["client"] as? String == expected)
      let other = try await tunnel.request(
        "POST", "/v1/envelopes", headers: json,
        body: Device.json(["path": "/", "client": "truck-1"]))
      #expect(other.status == 403)
      // Whoever comes by the listener without TLS shows no certificate, and is nobody.
      #expect(try await secured.plain.get("/status").status == 401)
    }

    @Test("a revoked one is refused, also once the list was renewed while the relay ran")
    func revoked() async throws {
      let secured = try await secured(isRequired: true, checksRevocation: true)
      let authority = secured.authority
      let lost = CertificateAuthority.Pair(
        certificate: authority.folder.path + "/lost.pem", key: authority.folder.path + "/lost.key")
      let good = try await authority.sign("good", subject: "/CN=truck-7", names: "DNS:truck-7")
      #expect(try await !isServed(secured, options(lost)))
      try await secured.relay.log(holds: "certificate revoked")
      let kept = try secured.tunnel(options(good))
      #expect(try await kept.request("GET", "/healthz").status == 200)
      try await authority.revoke(good)
      _ = try await authority.revocations()
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "certificate reloaded")
      #expect(try await !isServed(secured, options(good)))
    }
  }
}
