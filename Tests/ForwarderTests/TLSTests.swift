import Forwarder
import Foundation
import RelayCore
import Testing

@Suite(
  "Upstreams over TLS", .timeLimit(.minutes(5)),
  .enabled(if: Tool.path(of: "openssl") != nil, "the openssl command is not installed"))
struct TLSTests {
  @Test("a certificate that nobody trusted has signed is not accepted")
  func untrusted() async throws {
    let server = try SecureServer()
    let event = try await Attempts().run(request(.test(server.url)))
    #expect(event.failure == .tls)
    #expect(
      event.detail
        == "the certificate of 127.0.0.1:\(server.port) is not trusted: self-signed certificate")
  }

  @Test("one that the configured authorities have signed is")
  func trusted() async throws {
    let server = try SecureServer()
    let target = try UpstreamTarget.test(
      server.url, certificates: .file(path: server.folder.certificate))
    #expect(try await Attempts().run(request(target)).response?.status == 200)
  }

  @Test("a certificate for another host is not accepted")
  func otherHost() async throws {
    let server = try SecureServer()
    let target = try UpstreamTarget.test(
      "https://localhost:\(server.port)", certificates: .file(path: server.folder.certificate))
    let event = try await Attempts().run(request(target))
    #expect(event.failure == .tls)
    #expect(
      event.detail.hasPrefix("the certificate of localhost:\(server.port) is not trusted: no "))
  }

  @Test("an upstream that speaks no TLS where TLS was asked for")
  func noTLS() async throws {
    let upstream = try RawUpstream { connection in
      connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
      connection.waitForEnd()
    }
    let event = try await Attempts().run(request(.test("https://127.0.0.1:\(upstream.port)")))
    #expect(event.failure == .tls)
    let words = "127.0.0.1:\(upstream.port) speaks no TLS, and its url begins with https: "
    #expect(event.detail.hasPrefix(words), "\(event.detail)")
  }

  @Test(
    "a server that was sent plain text where it speaks TLS has looked at no request",
    .enabled(if: Tool.path(of: "nginx") != nil))
  func plainText() async throws {
    let server = try HTTP2Server()
    let target = try UpstreamTarget.test("http://127.0.0.1:\(server.port)")
    let ends = try await Attempts().run([request(target, "POST", body: .inline([1]))])
    let report = try #require(ends.reports.first)
    #expect(report.event.failure == .tls && !report.isWritten)
    #expect(
      report.event.detail == "127.0.0.1:\(server.port) speaks TLS, and its url begins with http: "
        + "it answered 400 (The plain HTTP request was sent to HTTPS port)")
  }

  @Test(
    "HTTP/2 is spoken where the upstream offers it, with target and body as they are",
    .enabled(if: Tool.path(of: "nginx") != nil, "nginx is not installed"))
  func http2() async throws {
    let server = try HTTP2Server()
    let target = try UpstreamTarget.test(
      server.url, certificates: .file(path: server.folder.certificate))
    let attempts = try Attempts([target])
    let requests = (1...50).map { serial in
      request(
        target, "PUT", "/a/.../\(serial)?%zz&&", headers: [("X-Test", "caf\u{E9}")],
        body: .inline([UInt8](repeating: 1, count: 2000)), serial: serial)
    }
    for report in try await attempts.run(requests).reports {
      let response = try #require(report.event.response)
      let expected = "HTTP/2.0 PUT /a/.../\(report.serial)?%zz&& caf\u{E9} 2000 \(exampleID)"
      #expect(String(decoding: response.body, as: UTF8.self) == expected)
    }
  }

  @Test(
    "over HTTP/2 nobody waits for another upstream's proxy that hangs, before the same server",
    .enabled(if: Tool.path(of: "nginx") != nil), arguments: [false, true])
  func proxiedServer(isRetired: Bool) async throws {
    let server = try HTTP2Server()
    let authorities = try UpstreamTarget.CertificateAuthorities.file(
      path: server.folder.certificate)
    let (asked, tell) = AsyncStream.makeStream(of: Void.self)
    let hanging = try RawUpstream { connection in
      while connection.readHead() != nil { tell.yield() }
    }
    let stuck = try UpstreamTarget.test(
      server.url, proxy: hanging.url, certificates: authorities)
    let free = try UpstreamTarget.test(server.url, certificates: authorities)
    let attempts = try Attempts([stuck, free])
    #expect(attempts.forwarder.submit([request(stuck, serial: 1)]))
    for await _ in asked { break }
    if isRetired { attempts.forwarder.configure(targets: [free], retired: [stuck]) }
    let ends = try await attempts.run([request(free, serial: 2)])
    #expect(ends.reports.map(\.serial) == [2])
    #expect(ends.reports.first?.event.response?.status == 200)
  }
}

/// openssl's own server with a self-signed certificate; answers each GET with 200.
private final class SecureServer {
  let folder: CertificateFolder
  let port: UInt16
  private let tool: Tool
  var url: String { "https://127.0.0.1:\(port)" }

  init() throws {
    folder = try CertificateFolder()
    port = try reservedPort()
    tool = try Tool(
      Tool.path(of: "openssl") ?? "openssl",
      [
        "s_server", "-accept", "127.0.0.1:\(port)", "-www", "-key", folder.key, "-cert",
        folder.certificate,
      ])
    #expect(tool.waitForOutput("ACCEPT"))
  }
}

/// nginx with HTTP/2 over TLS, which answers with what it saw of the request.
private final class HTTP2Server {
  let folder: CertificateFolder
  let port: UInt16
  private let tool: Tool
  var url: String { "https://127.0.0.1:\(port)" }

  init() throws {
    folder = try CertificateFolder()
    port = try reservedPort()
    let configuration = """
      daemon off; master_process off; pid \(folder.path)/pid; error_log stderr notice;
      events {}
      http {
        access_log off; client_body_temp_path \(folder.path)/body;
        proxy_temp_path \(folder.path)/p; fastcgi_temp_path \(folder.path)/f;
        uwsgi_temp_path \(folder.path)/u; scgi_temp_path \(folder.path)/s;
        server {
          listen 127.0.0.1:\(port) ssl http2;
          ssl_certificate \(folder.certificate); ssl_certificate_key \(folder.key);
          default_type text/plain;
          set $sent "$http_content_length $http_idempotency_key";
          # Passed on only so that the body has been read before there is an answer: to one that it
          # answers early nginx may reset the stream.
          location / {
            proxy_pass http://unix:\(folder.path)/inner:/;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Line
              "$server_protocol $request_method $request_uri $http_x_test $sent";
          }
        }
        server {
          listen unix:\(folder.path)/inner;
          default_type text/plain;
          return 200 "$http_x_line";
        }
      }
      """
    try configuration.write(
      toFile: folder.path + "/nginx.conf", atomically: true, encoding: .utf8)
    tool = try Tool(
      Tool.path(of: "nginx") ?? "nginx", ["-e", "stderr", "-c", folder.path + "/nginx.conf"])
    #expect(tool.waitForOutput("event method"))
  }
}
