import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Clients' certificates", .serialized, .ofNoStore)
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

    @Test("a certificate that a browser adds for another site's page lets that do nothing")
    func otherSite() async throws {
      let secured = try await secured(isRequired: true)
      let pair = try await secured.authority.sign(
        "good", subject: "/CN=truck-7", names: "DNS:truck-7")
      let post = try Device.json(["path": "/"])
      func posted(_ fields: [String: String]) async throws -> WireResponse {
        try await secured.tunnel(options(pair)).request(
          "POST", "/v1/envelopes",
          headers: ["Content-Type": "application/json"].merging(fields) { $1 }, body: post)
      }
      for fields in [
        ["Origin": "https://evil.example"], ["Sec-Fetch-Site": "cross-site"],
        ["Sec-Fetch-Site": "same-site"], ["Origin": "null"],
      ] {
        let answer = try await posted(fields)
        #expect(answer.status == 403 && answer.problem == "cross-site", "\(fields) \(answer)")
      }
      // No other host's name can be on the relay's certificate, so any is taken.
      #expect(try await posted(["Sec-Fetch-Site": "same-origin"]).status == 202)
      #expect(try await posted([:]).status == 202)
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
      let other = try await authority.sign("other", subject: "/CN=truck-6", names: "DNS:truck-6")
      let spared = try secured.tunnel(options(other))
      let kept = try secured.tunnel(options(good))
      for tunnel in [spared, kept] {
        #expect(try await tunnel.request("GET", "/healthz").status == 200)
      }
      let body = try Device.json(["path": "/last"])
      let posting = try secured.tunnel(options(good))
      try await begin(posting, "POST /v1/envelopes", body)
      let listening = try secured.tunnel(options(good))
      try await begin(listening, "GET /v1/events", [])
      _ = try await onThread { try listening.connection.read(through: "event: snapshot") }
      try await authority.revoke(good)
      _ = try await authority.revocations()
      secured.relay.signal(SIGHUP)
      try await secured.relay.log(holds: "connections end whose clients' certificates")
      #expect(try await !isServed(secured, options(good)))
      // What was idle, or would never end, has ended; what was in flight is answered.
      _ = try await onThread { try kept.connection.readToEnd() }
      _ = try await onThread { try listening.connection.readToEnd() }
      let answer = try await onThread {
        try posting.connection.write([body.last ?? 0])
        return try posting.connection.readResponse(to: "POST")
      }
      #expect(answer.status == 202 && answer["Connection"] == "close")
      _ = try await onThread { try posting.connection.readToEnd() }
      // Whose certificate still counts goes on as if nothing had been.
      #expect(try await spared.request("GET", "/healthz").status == 200)
    }

    /// Sends a request but for the last byte of its body.
    private func begin(_ tunnel: SecureTunnel, _ line: String, _ body: [UInt8]) async throws {
      let head =
        "\(line) HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.count)\r\n\r\n"
      let bytes = Array(head.utf8) + body.dropLast()
      try await onThread { try tunnel.connection.write(bytes) }
    }

    @Test("one that ends while its connection is kept is of no more use from then on")
    func ends() async throws {
      let clock = try FakeClock()
      let secured = try await SecuredRelay.started(
        { ["clientCertificates": ["authorities": $0.certificate]] },
        settings: ["clock": ["settleSeconds": 0]], environment: clock.environment)
      let good = try await secured.authority.sign(
        "good", subject: "/CN=truck-7", names: "DNS:truck-7")
      let kept = try secured.tunnel(options(good))
      #expect(try await kept.request("GET", "/v1/envelopes").status == 200)
      try clock.set(ahead: 3 * FakeClock.day)
      let refused = try await kept.request("GET", "/v1/envelopes")
      #expect(refused.status == 401 && refused.problem == "unauthenticated")
      #expect(refused["Connection"] == "close" && refused["WWW-Authenticate"] != nil)
      #expect(try refused.json()["detail"] as? String != nil)
      _ = try await onThread { try kept.connection.readToEnd() }
    }

    @Test("one that ends shows nothing more to who listens by it")
    func endsStream() async throws {
      let clock = try FakeClock()
      let secured = try await SecuredRelay.started(
        { ["clientCertificates": ["authorities": $0.certificate]] },
        settings: [
          "clock": ["settleSeconds": 0], "access": ["operators": Credentials.operators],
        ], environment: clock.environment)
      let good = try await secured.authority.sign(
        "good", subject: "/CN=truck-7", names: "DNS:truck-7")
      let tunnel = try secured.tunnel(options(good))
      defer { withExtendedLifetime(tunnel) {} }
      let listener = tunnel.connection
      let seen = try await onThread {
        try listener.write(Array("GET /v1/events HTTP/1.1\r\nHost: relay\r\n\r\n".utf8))
        return try listener.read(through: "event: snapshot\n")
      }
      #expect(seen != nil)
      try clock.set(ahead: 3 * FakeClock.day)
      let steering = Device("steering", port: secured.relay.port(of: 1), token: Credentials.steer)
      try await steering.request("POST", "/v1/clients/truck-7/pause").require(200)
      // The stream comes to its end, and the connection stays.
      let rest = try await onThread { try #require(try listener.read(through: "\r\n0\r\n\r\n")) }
      #expect(!String(decoding: rest, as: UTF8.self).contains("event: paused"))
    }
  }
}
