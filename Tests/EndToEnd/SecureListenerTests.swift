import Foundation
import Glibc
import Testing

/// A relay with a listener that has TLS and one that has not, to look from; and who signed its
/// certificate.
struct SecuredRelay {
  let authority: CertificateAuthority
  let pair: CertificateAuthority.Pair
  let upstream: TestUpstream
  let relay: Relay

  /// The port with TLS.
  var port: UInt16 { relay.port(of: 0) }
  /// A device that comes without TLS.
  var plain: Device { Device("device-1", port: relay.port(of: 1)) }

  /// Starts one.
  ///
  /// - Parameters:
  ///   - more: More of the listener's `tls`.
  ///   - limits: What stands under `limits`.
  ///   - settings: Other members of the configuration.
  ///   - environment: The relay's variables.
  static func started(
    _ more: (CertificateAuthority) async throws -> [String: any Sendable] = { _ in [:] },
    limits: [String: any Sendable] = [:], upstream: TestUpstream? = nil,
    settings: [String: any Sendable] = [:], environment: [String: String] = [:]
  ) async throws -> SecuredRelay {
    let authority = try await CertificateAuthority()
    let pair = try await authority.sign("relay", subject: "/CN=relay-1")
    let upstream = try upstream ?? TestUpstream()
    let tls = pair.listener.merging(try await more(authority)) { _, given in given }
    let listen: [any Sendable] = [
      ["address": "127.0.0.1:0", "tls": tls] as [String: any Sendable], "127.0.0.1:0",
    ]
    let relay = try Relay(
      upstreams: ["default": Relay.quick(upstream)],
      more: settings.merging(["limits": limits]) { _, given in given }, listen: listen,
      environment: environment)
    try await relay.start()
    return SecuredRelay(authority: authority, pair: pair, upstream: upstream, relay: relay)
  }

  /// A connection over TLS.
  func tunnel(_ more: [String] = []) throws -> SecureTunnel {
    try SecureTunnel(port: port, trusting: authority.certificate, more)
  }
}

extension EndToEnd {
  @Suite("A listener with TLS", .serialized, .ofNoStore)
  struct SecureListeners {
    @Test("TLS 1.2 and 1.3 are spoken, with forward secrecy and AEAD; nothing older or weaker")
    func versions() async throws {
      let secured = try await SecuredRelay.started()
      for (options, expected) in [
        (["-tls1_2"], "New, TLSv1.2, Cipher is ECDHE-ECDSA-AES256-GCM-SHA384"),
        (["-tls1_3"], "New, TLSv1.3, Cipher is TLS_AES_256_GCM_SHA384"),
        (["-tls1_1", "-cipher", "ALL@SECLEVEL=0"], "alert protocol version"),
        (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384"], "alert handshake failure"),
        (["-tls1_2", "-cipher", "AES128-GCM-SHA256"], "alert handshake failure"),
      ] {
        let shown = try await Handshake.of(port: secured.port, options)
        #expect(shown.contains(expected), "\(options): \(shown)")
        #expect(!shown.contains("New Session Ticket arrived"), "no session can be resumed")
      }
      #expect(try await secured.plain.get("/healthz").status == 200)
    }

    @Test("where 1.3 is the oldest version, 1.2 is refused")
    func oldestVersion() async throws {
      let secured = try await SecuredRelay.started({ _ in ["minVersion": "1.3"] })
      #expect(
        try await Handshake.of(port: secured.port, ["-tls1_2"]).contains("alert protocol version"))
      #expect(try await Handshake.of(port: secured.port, ["-tls1_3"]).contains("TLSv1.3"))
    }

    @Test("HTTP/1.1 is agreed on where it is offered, and offers without it are refused")
    func applicationProtocol() async throws {
      let secured = try await SecuredRelay.started()
      for (offer, expected) in [
        ("http/1.1", "ALPN protocol: http/1.1"), ("h2,http/1.1", "ALPN protocol: http/1.1"),
        ("h2", "alert no application protocol"), ("http/1.0", "alert no application protocol"),
      ] {
        let shown = try await Handshake.of(port: secured.port, ["-alpn", offer])
        #expect(shown.contains(expected), "\(offer): \(shown)")
      }
    }

    @Test("large bodies pass both ways, and pipelined requests are answered in order")
    func bodies() async throws {
      let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
      let upstream = try TestUpstream { request in .answer(200, body: request.body) }
      let secured = try await SecuredRelay.started(
        { _ in [:] }, limits: ["bodyBytesMax": 4_000_000], upstream: upstream)
      for version in ["-tls1_2", "-tls1_3"] {
        let tunnel = try secured.tunnel([version])
        let answer = try await tunnel.request(
          "POST", "/v1/relay/default/echo", headers: ["Waystation-Client": "device-1"], body: large)
        #expect(answer.status == 202)
        #expect(
          try await upstream.received(count: version == "-tls1_2" ? 1 : 2).last?.body == large)
        let text = String(repeating: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", count: 200)
        let statuses = try await onThread {
          try tunnel.connection.write(Array(text.utf8))
          return try (0..<200).map { _ in try tunnel.connection.readResponse(to: "GET").status }
        }
        #expect(statuses.allSatisfy { $0 == 200 })
      }
    }

    @Test("a long answer comes whole, though its reader is slow at first")
    func longAnswer() async throws {
      let secured = try await SecuredRelay.started()
      let envelopes = (0..<200).map { index -> [String: any Sendable] in
        ["path": "/\(index)", "hold": true, "tag": String(repeating: "t", count: 128)]
      }
      #expect(try await secured.plain.post(batch: envelopes).status == 202)
      let tunnel = try secured.tunnel()
      // Several answers wait to be read at once: more than the sockets on the way can hold.
      let target = "/v1/envelopes?client=device-1&limit=200"
      let ask = "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
      let lengths = try await onThread {
        try tunnel.connection.write(Array(String(repeating: ask, count: 60).utf8))
        return try (0..<60).map { _ in try tunnel.connection.readResponse(to: "GET").body.count }
      }
      #expect(Set(lengths).count == 1)
      #expect(lengths.allSatisfy { $0 > 50_000 })
    }

    @Test("a connection that is cut within a body stores nothing")
    func truncated() async throws {
      let secured = try await SecuredRelay.started()
      let plain = secured.plain
      #expect(try await plain.get("/healthz").status == 200)
      let tunnel = try secured.tunnel()
      let head =
        "POST /v1/relay/default/x HTTP/1.1\r\nHost: a\r\nWaystation-Client: device-1\r\n"
      // The first request is whole, so that the second one's beginning has surely arrived.
      try await onThread {
        try tunnel.connection.write(Array("\(head)Content-Length: 1\r\n\r\n1".utf8))
        #expect(try tunnel.connection.readResponse(to: "POST").status == 202)
      }
      try await secured.upstream.received(count: 1)
      let descriptors = try secured.relay.descriptorCount()
      try await onThread {
        try tunnel.connection.write(
          Array("\(head)Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n".utf8))
        #expect(try tunnel.connection.read(through: "\r\n\r\n") != nil)
        try tunnel.connection.write([UInt8](repeating: 120, count: 1000))
      }
      tunnel.cut()
      try await eventually("the connection's end") {
        try secured.relay.descriptorCount() == descriptors - 1 ? true : nil
      }
      let listed = try await plain.get("/v1/envelopes?client=device-1").json()
      #expect((listed["envelopes"] as? [Any])?.count == 1)
    }

    @Test("HTTP without TLS is told so, and what is neither is closed")
    func plainHTTP() async throws {
      let secured = try await SecuredRelay.started()
      let answer = try await Device("device-1", port: secured.port).get("/healthz")
      #expect(answer.status == 400)
      #expect(answer.text.contains("use https://"))
      let connection = try Connection(port: secured.port)
      let rest = try await onThread {
        try connection.write(Array("EHLO relay\r\n".utf8))
        return try connection.readToEnd()
      }
      #expect(!rest.contains(UInt8(ascii: "<")))
      try await secured.relay.log(holds: "plain HTTP was sent")
    }

    @Test("silent and slow handshakes are bounded in number and time, and hold up nobody")
    func slowHandshakes() async throws {
      let secured = try await SecuredRelay.started(
        limits: ["handshakesMax": 10, "handshakeTimeoutMs": 1500])
      var silent: [Connection] = []
      for index in 0..<40 {
        let connection = try Connection(port: secured.port)
        // Every other one begins a record, and stops.
        if index % 2 == 0 { try connection.write([0x16, 0x03, 0x01, 0x02]) }
        silent.append(connection)
        if index % 10 == 9 {
          #expect(try await secured.tunnel().request("GET", "/healthz").status == 200)
        }
      }
      let all = silent
      // The oldest had to give way to others; the last ones are let go when their time is up.
      let rest = try await onThread { try all.map { try $0.readToEnd() } }
      #expect(rest.allSatisfy { $0.isEmpty })
      #expect(try await secured.tunnel().request("GET", "/healthz").status == 200)
    }

    @Test("a client hello that comes byte by byte is cut off when its time is up")
    func byteByByte() async throws {
      let secured = try await SecuredRelay.started(limits: ["handshakeTimeoutMs": 500])
      let connection = try Connection(port: secured.port)
      let writtenCount = try await onThread {
        let never = Monitor(())
        let hello = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01] + [UInt8](repeating: 0, count: 500)
        for (index, byte) in hello.enumerated() {
          do { try connection.write([byte]) } catch is SocketError { return index }
          // What is tested is a sender that is slow, so it has to be.
          _ = never.block(seconds: 0.02) { _ -> Bool? in nil }
        }
        return hello.count
      }
      #expect(writtenCount < 506)
      try await secured.relay.log(holds: "the handshake took too long")
    }

    @Test("many connections are kept at once, and each is said goodbye when the relay stops")
    func many() async throws {
      let secured = try await SecuredRelay.started()
      var tunnels: [SecureTunnel] = []
      for _ in 0..<24 {
        let tunnel = try secured.tunnel()
        #expect(try await tunnel.request("GET", "/healthz").status == 200)
        tunnels.append(tunnel)
      }
      for tunnel in tunnels {
        #expect(try await tunnel.request("GET", "/readyz").status == 200)
      }
      secured.relay.signal(SIGTERM)
      #expect(try await secured.relay.ending() == .exit(0))
      // Without close_notify the command would have taken the end for an attack, and failed.
      for tunnel in tunnels { #expect(try await tunnel.ending() == .exit(0)) }
    }
  }
}
