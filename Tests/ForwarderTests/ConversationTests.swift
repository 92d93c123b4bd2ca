import EventLoop
import Forwarder
import Glibc
import RelayCore
import Testing

@Suite("The command's own requests", .timeLimit(.minutes(5)))
struct ConversationTests {
  /// Makes requests one after the other on a thread that may block; the answers, or the first
  /// failure's words.
  private func ask(
    _ url: String, _ certificates: UpstreamTarget.CertificateAuthorities = .system,
    between: @escaping @Sendable () -> Void = {}
  ) async -> [String] {
    await onThread {
      // As the command does: OpenSSL would raise it where a peer is gone.
      Signals.block([SIGPIPE])
      var said: [String] = []
      do throws(Conversation.Failure) {
        guard let url = try? UpstreamURL(url) else { return ["no URL"] }
        let conversation = try Conversation(with: .url(url), certificates: certificates)
        for path in ["/1", "/2"] {
          var body: [UInt8] = []
          let answer = try conversation.send("GET", path, fields: [], timeoutMs: 20_000) {
            body += $1
            return true
          }
          said.append("\(answer.status) \(String(decoding: body, as: UTF8.self))")
          if path == "/1" { between() }
        }
      } catch {
        said.append(error.reason)
      }
      return said
    }
  }

  @Test("a server that cannot be reached is told by the one reason, and nothing twice")
  func unreachable() async throws {
    #expect(await ask("http://127.0.0.1:\(try reservedPort())") == ["connection refused"])
    let host = String(repeating: "a", count: 64) + ".invalid"
    #expect(await ask("http://\(host)") == ["its name could not be resolved"])
  }

  @Test("each request gets its own answer, whatever came behind the one before")
  func stray() async throws {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    let stray = try StrayUpstream(first: [ok]) { $0.send(StrayUpstream.evil) }
    let said = await ask(stray.upstream.url) { stray.blockUntilMoreIsSaid() }
    #expect(said == ["200 ok", "201 mine"])
    #expect(stray.requestsOnFirst.count == 1 && stray.upstream.acceptCount == 2)
  }

  @Test("connections are kept between requests", arguments: [true, false])
  func kept(isSecure: Bool) async throws {
    let tls = isSecure ? try RawTLS(.tls13) : nil
    let upstream = try RawUpstream(tls: tls) { connection in
      while connection.readRequest() != nil { connection.send(StrayUpstream.mine) }
    }
    let said = await ask(
      isSecure ? upstream.secureURL : upstream.url,
      try tls.map { try .file(path: $0.folder.certificate) } ?? .system)
    #expect(said == ["201 mine", "201 mine"])
    #expect(upstream.acceptCount == 1)
  }

  @Test("a certificate for another host is not accepted")
  func otherHost() async throws {
    let tls = try RawTLS(.tls13)
    let upstream = try RawUpstream(tls: tls) { connection in
      while connection.readRequest() != nil { connection.send(StrayUpstream.mine) }
    }
    let said = try await ask(
      "https://localhost:\(upstream.port)", .file(path: tls.folder.certificate))
    #expect(said.count == 1 && said.first?.contains("localhost") == true, "\(said)")
  }

  @Test("one that nobody trusted has signed is not accepted")
  func untrusted() async throws {
    let tls = try RawTLS(.tls13)
    let upstream = try RawUpstream(tls: tls) { _ = $0.readRequest() }
    let said = await ask(upstream.secureURL)
    #expect(said.count == 1 && said.first?.contains("certificate") == true, "\(said)")
  }
}
