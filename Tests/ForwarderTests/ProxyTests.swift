import Forwarder
import RelayCore
import Testing

@Suite("Who asks for credentials", .timeLimit(.minutes(5)))
struct ProxyTests {
  private static let question =
    "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"

  /// Runs one attempt whose connection gets that question.
  private func report(
    _ target: (RawUpstream) throws -> UpstreamTarget, tunnel: RawTLS? = nil
  ) async throws -> AttemptReport {
    let upstream = try RawUpstream { connection in
      if let tunnel {
        guard connection.readHead() != nil else { return }
        connection.send("HTTP/1.1 200 Connected\r\n\r\n")
        connection.secure(with: tunnel)
      }
      _ = connection.readRequest()
      connection.send(Self.question)
    }
    let ends = try await Attempts().run([request(try target(upstream))])
    return try #require(ends.reports.first)
  }

  @Test("407 without a proxy is the upstream's answer")
  func noProxy() async throws {
    let report = try await report { try .test($0.url) }
    #expect(report.event.response?.status == 407 && report.isWritten)
  }

  @Test("407 from within a proxy's tunnel is the upstream's answer")
  func tunnelled() async throws {
    let tls = try RawTLS(.tls13)
    let report = try await report(
      {
        try .test(
          "https://127.0.0.1:9", proxy: $0.url, certificates: .file(path: tls.folder.certificate))
      }, tunnel: tls)
    #expect(report.event.response?.status == 407 && report.isWritten)
  }

  @Test("a proxy that does not connect is what the words are about", arguments: [403, 502])
  func refusesTunnel(status: Int) async throws {
    let proxy = try RawUpstream { connection in
      _ = connection.readHead()
      connection.send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
    }
    let target = try UpstreamTarget.test("https://api.invalid:444", proxy: proxy.url)
    let ends = try await Attempts().run([request(target)])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .connect && !report.isWritten)
    #expect(
      report.event.detail
        == "the proxy did not connect to api.invalid:444: it answered \(status)")
  }

  @Test("where a proxy answers with a page in the tunnel's place, it may be the proxy's fault")
  func pageInTunnel() async throws {
    let proxy = try RawUpstream { connection in
      _ = connection.readHead()
      connection.send("HTTP/1.1 200 OK\r\n\r\n")
      connection.send("<html>please log in to this network</html>\r\n")
      connection.waitForEnd()
    }
    let event = try await Attempts().run(request(.test("https://127.0.0.1:9", proxy: proxy.url)))
    let words = "127.0.0.1:9, or the proxy before it, speaks no TLS, and its url begins with https"
    #expect(event.failure == .tls && event.detail.hasPrefix(words), "\(event.detail)")
  }

  @Test("a proxy at which nobody is, is what the words are about")
  func noProxyThere() async throws {
    let proxy = "127.0.0.1:\(try reservedPort())"
    for url in ["http://api.invalid", "https://api.invalid:444"] {
      let event = try await Attempts().run(request(.test(url, proxy: "http://\(proxy)")))
      let words = "no connection to the proxy before \(url.split(separator: "/")[1]) could be made"
      #expect(event.failure == .connect && event.detail.hasPrefix(words), "\(event.detail)")
    }
  }

  @Test("407 of a proxy that fetches the answer itself is no answer: the upstream has seen nothing")
  func fromProxy() async throws {
    let report = try await report { try .test("http://api.invalid", proxy: $0.url) }
    #expect(report.event.failure == .connect && !report.isWritten)
  }
}
