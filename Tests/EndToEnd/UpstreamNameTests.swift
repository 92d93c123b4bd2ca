import Foundation
import Testing

extension EndToEnd {
  @Suite(
    "Upstreams' names", .serialized,
    .enabled(
      if: NameServer.isPossible,
      "a name server of one's own takes root, unshare with mounts, and port 53 on loopback"),
    .ofNoStore)
  struct UpstreamNames {
    private func configuration(
      _ port: UInt16, connectTimeoutMs: Int = 1000
    ) -> [String: any Sendable] {
      [
        "url": "http://upstream.example:\(port)", "connectTimeoutMs": connectTimeoutMs,
        "retry": ["firstDelayMs": 20, "maxDelayMs": 100],
        "reachability": ["firstProbeDelayMs": 50, "maxProbeDelayMs": 100],
      ]
    }

    @Test("a name that cannot be resolved, in whichever way, is an outage, which ends by itself")
    func failing() async throws {
      let upstream = try TestUpstream()
      let names = try NameServer(.unknown)
      let relay = try Relay(
        upstreams: ["default": configuration(upstream.port, connectTimeoutMs: 300)],
        wrapper: names.wrapper)
      try await relay.start()
      let device = relay.device()
      let posted = try await device.post(["path": "/", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      for answer in [NameServer.Answer.unknown, .failure, .garbage, .silence] {
        names.say(answer)
        try await names.asked(more: 3)
      }
      let view = try await device.get("/v1/envelopes/\(id)").json()
      #expect(UpstreamCertificates.isWaiting(view), "\(view)")
      #expect(upstream.received.isEmpty)
      names.say(.address(127, 0, 0, 1))
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(upstream.received.map { $0["Host"] } == ["upstream.example:\(upstream.port)"])
    }

    @Test("an address that nobody answers at any more is looked up again at once")
    func moved() async throws {
      let upstream = try TestUpstream()
      let names = try NameServer(.address(127, 0, 0, 1))
      let relay = try Relay(
        upstreams: ["default": configuration(upstream.port)], wrapper: names.wrapper)
      try await relay.start()
      let device = relay.device()
      let first = try await device.relay("GET", "/1", headers: ["Prefer": "wait=20"])
      #expect(first["Waystation-Upstream-Status"] == "200", "\(first)")
      // It is told a place where nobody listens, and asks for it once the old place is gone.
      names.say(.address(127, 77, 0, 1))
      upstream.stop()
      let posted = try await device.post(["path": "/2", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      try await names.asked(more: 2)
      try upstream.start()
      try await names.asked(more: 2)
      #expect(upstream.received.count == 1)
      // What was found less than half a minute ago is not gone by while it does not work.
      names.say(.address(127, 0, 0, 1))
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
    }

    @Test("a lie leads nowhere where a certificate is asked for: nothing is sent until it is true")
    func lie() async throws {
      let authority = try await CertificateAuthority()
      let stranger = try await authority.sign(
        "stranger", subject: "/CN=stranger", names: "DNS:elsewhere.example")
      let right = try await authority.sign(
        "right", subject: "/CN=right", names: "DNS:upstream.example")
      let port = try ReservedPort.kept()
      let names = try NameServer(.address(127, 0, 0, 1))
      var upstream = configuration(port)
      upstream["url"] = "https://upstream.example:\(port)"
      upstream["certificateAuthorities"] = authority.certificate
      let relay = try Relay(upstreams: ["default": upstream], wrapper: names.wrapper)
      let liar = try await SecureUpstream(port: port, stranger)
      try await relay.start()
      let device = relay.device()
      let posted = try await device.post(["path": "/", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      try await names.asked(more: 3)
      let view = try await UpstreamCertificates.view(of: id, device) { view in
        (view["attempts"] as? [[String: Any]])?.isEmpty == false
      }
      #expect(UpstreamCertificates.isWaiting(view), "\(view)")
      try await liar.stop()
      let server = try await SecureUpstream(port: port, right)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      try await server.stop()
    }
  }
}
