import Foundation
import Testing

extension EndToEnd {
  @Suite("Clients that a certificate names", .serialized)
  struct CertifiedClients {
    @Test("a certificate names its client, and a token beside it has to be the same client's")
    func named() async throws {
      let authority = try await CertificateAuthority()
      let pair = try await authority.sign("relay", subject: "/CN=relay-1")
      let own = try await authority.sign("own", subject: "/CN=truck-7", names: "DNS:truck-7")
      let asked: [String: any Sendable] = [
        "authorities": authority.certificate, "required": false,
      ]
      let tls = pair.listener.merging(["clientCertificates": asked]) { _, given in given }
      let upstream = try TestUpstream()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: Credentials.configuration,
        listen: [["address": "127.0.0.1:0", "tls": tls] as [String: any Sendable]])
      try await relay.start()
      func tunnel(_ options: [String] = []) throws -> SecureTunnel {
        try SecureTunnel(port: relay.port(of: 0), trusting: authority.certificate, options)
      }
      func token(_ text: String) -> [String: String] { ["Authorization": "Bearer \(text)"] }

      let device = try tunnel(["-cert", own.certificate, "-key", own.key])
      let json = ["Content-Type": "application/json"]
      let posted = try await device.request(
        "POST", "/v1/envelopes", headers: json, body: Array(#"{"path": "/x"}"#.utf8))
      #expect(try posted.status == 202 && posted.json()["client"] as? String == "truck-7")
      let other = try await device.request(
        "POST", "/v1/envelopes", headers: json,
        body: Array(#"{"path": "/x", "client": "truck-8"}"#.utf8))
      #expect(other.status == 403 && other.problem == "forbidden")
      #expect(try await device.request("GET", "/v1/clients/truck-7").status == 200)
      #expect(try await device.request("GET", "/v1/clients/truck-8").status == 404)
      #expect(try await device.request("GET", "/status").status == 403)
      let tokens = [
        (Credentials.derived("truck-7"), 200), (Credentials.derived("truck-8"), 401),
        (Credentials.read, 200),
      ]
      for (text, status) in tokens {
        let answer = try await device.request("GET", "/v1/clients/truck-7", headers: token(text))
        #expect(answer.status == status, "\(answer)")
      }
      let stranger = try tunnel()
      #expect(try await stranger.request("GET", "/v1/clients/truck-7").status == 401)
      let known = try await stranger.request(
        "GET", "/v1/clients/truck-7", headers: token(Credentials.derived("truck-7")))
      #expect(known.status == 200)
    }
  }
}
