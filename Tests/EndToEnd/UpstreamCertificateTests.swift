import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Upstreams' certificates", .serialized, .ofNoStore)
  struct UpstreamCertificates {
    @Test("one that has expired, or is another host's, is an outage, which ends when it is mended")
    func mended() async throws {
      let authority = try await CertificateAuthority()
      let stranger = try await CertificateAuthority(name: "stranger")
      let wrong = [
        try await authority.sign("expired", subject: "/CN=expired", years: (2020, 2021)),
        try await authority.sign("other", subject: "/CN=other", names: "DNS:elsewhere.example"),
        try await stranger.sign("stranger", subject: "/CN=stranger"),
      ]
      let right = try await authority.sign("right", subject: "/CN=right")
      let port = try ReservedPort.kept()
      var upstream: [String: any Sendable] = [
        "url": "https://127.0.0.1:\(port)", "certificateAuthorities": authority.certificate,
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
            ($0["error"] as? String)?.contains("is not trusted") == true
          } == true
        }
        #expect(Self.isWaiting(view), "\(view)")
        try await server.stop()
      }
      let server = try await SecureUpstream(port: port, right)
      for id in ids { #expect(try await device.end(of: id)["state"] as? String == "delivered") }
      try await server.stop()
    }

    @Test(
      "authorities of one's own are the only ones, and those that the file held at a SIGHUP",
      .enabled(if: Self.canMount, "a folder of authorities of one's own takes root and unshare"))
    func onlyOnes() async throws {
      let authority = try await CertificateAuthority()
      let system = try await CertificateAuthority(name: "one of the system's")
      let trusted = try TemporaryFolder()
      try FileManager.default.copyItem(
        atPath: system.certificate, toPath: trusted.path + "/system.pem")
      try #require(
        try await ChildProcess("openssl", ["rehash", trusted.path]).ending() == .exit(0))
      let port = try ReservedPort.kept()
      var upstream: [String: any Sendable] = [
        "url": "https://127.0.0.1:\(port)", "certificateAuthorities": authority.certificate,
        "reachability": ["firstProbeDelayMs": 50, "maxProbeDelayMs": 100],
      ]
      upstream["retry"] = ["firstDelayMs": 20, "maxDelayMs": 100]
      let relay = try Relay(
        upstreams: ["default": upstream],
        wrapper: [
          "unshare", "--mount", "--propagation", "private", "sh", "-c",
          "mount --bind \"$0\" /etc/ssl/certs && exec \"$@\"", trusted.path,
        ])
      let server = try await SecureUpstream(
        port: port, try await system.sign("server", subject: "/CN=server"))
      try await relay.start()
      let device = relay.device()
      let posted = try await device.post(["path": "/", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      let view = try await Self.view(of: id, device) { view in
        (view["attempts"] as? [[String: Any]])?.isEmpty == false
      }
      #expect(Self.isWaiting(view), "\(view)")
      try String(contentsOfFile: system.certificate, encoding: .utf8)
        .write(toFile: authority.certificate, atomically: true, encoding: .utf8)
      relay.signal(SIGHUP)
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      try await server.stop()
    }

    @Test("a file of authorities that is half written, or gone, breaks nothing until it is whole")
    func halfWritten() async throws {
      let authority = try await CertificateAuthority()
      let port = try ReservedPort.kept()
      let server = try await SecureUpstream(
        port: port, try await authority.sign("server", subject: "/CN=server"))
      let upstream: [String: any Sendable] = [
        "url": "https://127.0.0.1:\(port)", "certificateAuthorities": authority.certificate,
        "reuseConnections": false,
      ]
      let tracing: [String: any Sendable] = [
        "endpoint": "https://127.0.0.1:1/v1/traces",
        "certificateAuthorities": authority.certificate,
      ]
      let relay = try Relay(upstreams: ["default": upstream], more: ["tracing": tracing])
      try await relay.start()
      let device = relay.device()
      func ask() async throws -> Int {
        try await device.relay("GET", "/", headers: ["Prefer": "wait=20"]).status
      }
      func reload(_ words: String) async throws {
        relay.signal(SIGHUP)
        try await relay.log(holds: words)
      }
      #expect(try await ask() == 200)
      let text = try String(contentsOfFile: authority.certificate, encoding: .utf8)
      let half = String(text.prefix(text.count / 2))
      try half.write(toFile: authority.certificate, atomically: false, encoding: .utf8)
      #expect(try await ask() == 200)
      let problem = "upstreams.default.certificateAuthorities: \(authority.certificate): "
      try await reload(problem)
      #expect(try await ask() == 200)
      try FileManager.default.removeItem(atPath: authority.certificate)
      #expect(try await ask() == 200)
      try await reload(problem + "cannot be read")
      #expect(try await ask() == 200)
      try text.write(toFile: authority.certificate, atomically: false, encoding: .utf8)
      try await reload("nothing has changed")
      let more = try await CertificateAuthority(name: "another")
      let both = try text + String(contentsOfFile: more.certificate, encoding: .utf8)
      try both.write(toFile: authority.certificate, atomically: false, encoding: .utf8)
      try await reload(#""changed":"upstreams.default, tracing""#)
      #expect(try await ask() == 200)
      try await server.stop()
    }

    @Test("a handshake that never ends is told as what it is, of each attempt that waits for it")
    func silent() async throws {
      let (listener, port) = try TestUpstream.listen(port: 0)
      defer { Glibc.close(listener) }
      var upstream: [String: any Sendable] = [
        "url": "https://127.0.0.1:\(port)", "connectTimeoutMs": 300, "attemptTimeoutMs": 300,
        "reachability": ["firstProbeDelayMs": 20, "maxProbeDelayMs": 50],
      ]
      upstream["retry"] = ["firstDelayMs": 20, "maxDelayMs": 100]
      let relay = try Relay(upstreams: ["default": upstream])
      try await relay.start()
      let device = relay.device()
      for lane in 0..<5 {
        try await device.post(["path": "/", "lane": "l\(lane)"]).require(202)
      }
      let errors = try await eventually("an attempt of each") {
        let list = try await device.get("/v1/envelopes?client=device-1").json()
        let errors = (list["envelopes"] as? [[String: Any]] ?? []).compactMap {
          ($0["attemptCount"] as? Int ?? 0) < 1 ? nil : $0["lastError"] as? String
        }
        return errors.count == 5 ? errors : nil
      }
      for error in errors {
        #expect(error.hasPrefix("127.0.0.1:\(port) took too long: "))
        #expect(!error.contains("resolve"), "\(error)")
      }
    }

    private static let canMount = geteuid() == 0 && ChildProcess.program("unshare") != nil

    /// Whether the envelope has not ended: it may be under way, as the upstream is tried again at
    /// its own pace.
    static func isWaiting(_ view: [String: Any]) -> Bool {
      ["queued", "delivering"].contains(view["state"] as? String)
    }

    /// Asks until the answer is the one that is waited for.
    static func view(
      of id: String, _ device: Device, until isEnough: ([String: Any]) -> Bool
    ) async throws -> [String: Any] {
      try await eventually("envelope that stands as was expected") {
        let view = try await device.get("/v1/envelopes/\(id)").json()
        return isEnough(view) ? view : nil
      }
    }
  }
}
