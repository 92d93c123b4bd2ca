import Foundation
import Testing

extension EndToEnd {
  @Suite(
    "Upstreams' certificates", .serialized,
    .enabled(if: CertificateAuthority.openssl != nil, "the openssl command is not installed"))
  struct UpstreamCertificates {
    @Test("one that has expired, or is another host's, is an outage, which ends when it is mended")
    func mended() async throws {
      let authority = try await CertificateAuthority()
      let stranger = try await CertificateAuthority()
      let wrong = [
        try await authority.certificate("expired", alternative: "IP:127.0.0.1", days: -1),
        try await authority.certificate("elsewhere", alternative: "DNS:elsewhere.example"),
        try await stranger.certificate("stranger", alternative: "IP:127.0.0.1"),
      ]
      let right = try await authority.certificate("right", alternative: "IP:127.0.0.1")
      let port = try TestUpstream.freePort()
      var upstream: [String: any Sendable] = [
        "url": "https://127.0.0.1:\(port)", "certificateAuthorities": authority.path,
        "reachability": ["firstProbeDelayMs": 50, "maxProbeDelayMs": 100],
      ]
      upstream["retry"] = ["firstDelayMs": 20, "maxDelayMs": 100]
      let relay = try Relay(upstreams: ["default": upstream])
      try await relay.start()
      let device = relay.device()
      var ids: [String] = []
      for certificate in wrong {
        let server = try await SecureUpstream(port: port, certificate)
        let posted = try await device.post(["path": "/", "method": "GET", "lane": "l\(ids.count)"])
        ids.append(try #require(posted.json()["id"] as? String))
        let view = try await Self.view(of: ids[ids.count - 1], device) { view in
          (view["attempts"] as? [[String: Any]])?.contains {
            ($0["error"] as? String)?.contains("could not be secured") == true
          } == true
        }
        #expect(view["state"] as? String == "queued", "\(view)")
        try await server.stop()
      }
      let server = try await SecureUpstream(port: port, right)
      for id in ids { #expect(try await device.end(of: id)["state"] as? String == "delivered") }
      try await server.stop()
    }

    /// Asks until the answer is the one that is waited for; each question takes a moment itself.
    static func view(
      of id: String, _ device: Device, until isEnough: ([String: Any]) -> Bool
    ) async throws -> [String: Any] {
      for _ in 0..<20 {
        let view = try await device.get("/v1/envelopes/\(id)?wait=1").json()
        if isEnough(view) { return view }
      }
      throw TimeLimitExceeded(description: "the envelope never stood as was expected")
    }
  }
}
