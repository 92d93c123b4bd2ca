import HTTPServer
import RelayCore
import RelayServer
import Testing

@Suite("What an upstream's answer brings")
struct UpstreamAnswerTests {
  private let id = EnvelopeID(serial: 1, acceptedAt: Fixture.now, random: 0)

  @Test("the fields of an upstream's answer that may pass do, in their order")
  func passThrough() throws {
    let response = try answer([
      ("Content-Type", "text/html"), ("ETag", "\"1\""), ("Set-Cookie", "a"),
      ("Location", "/base/x"),
      ("connection", "X-Hop"), ("X-Hop", "1"), ("Transfer-Encoding", "chunked"), ("Date", "x"),
      ("Server", "y"), ("content-length", "9"), ("Waystation-Id", "forged"),
      ("Retry-After", "5"), ("X-Mine", "1"), ("Vary", "Accept"), ("Cache-Control", "public"),
    ])
    #expect(
      response == """
        Content-Type: text/html\r
        ETag: "1"\r
        Location: /v1/relay/default/x\r
        Retry-After: 5\r
        X-Mine: 1\r
        Vary: Accept\r
        Waystation-Id: \(id)\r
        Waystation-State: failed\r
        Waystation-Upstream-Status: 404\r
        Waystation-Response-Truncated: true\r
        Cache-Control: no-store\r
        X-Content-Type-Options: nosniff\r
        Content-Security-Policy: sandbox; default-src 'none'\r
        Cross-Origin-Resource-Policy: same-origin\r

        """)
  }

  @Test(
    "what would speak for the relay's origin, or to who stands before it, is held back",
    arguments: [
      "Set-Cookie", "set-cookie2", "STRICT-TRANSPORT-SECURITY", "Alt-Svc", "Clear-Site-Data",
      "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Content-Security-Policy",
      "Content-Security-Policy-Report-Only", "Cross-Origin-Opener-Policy",
      "Cross-Origin-Resource-Policy", "Service-Worker-Allowed", "Public-Key-Pins",
      "Public-Key-Pins-Report-Only", "Expect-CT", "WWW-Authenticate", "Proxy-Authenticate",
      "Proxy-Authentication-Info", "Authentication-Info", "Refresh", "Link", "Report-To",
      "Reporting-Endpoints", "NEL", "SourceMap", "X-SourceMap", "Timing-Allow-Origin",
      "Origin-Agent-Cluster", "Permissions-Policy", "Referrer-Policy", "X-Frame-Options",
      "X-Content-Type-Options", "Accept-CH", "Critical-CH", "Speculation-Rules", "Sec-Anything",
      "X-Accel-Redirect", "X-Sendfile", "Surrogate-Control", "Cache-Control", "Expires", "Age",
      "Set-Login", "Secure-Session-Registration",
    ])
  func heldBack(name: String) throws {
    let bytes = Array(name.utf8)[...]
    #expect(!AnswerFields().passes(bytes))
    let canPass = !AnswerFields.isRelaysOwn(bytes)
    #expect(AnswerFields(passing: [name.lowercased()]).passes(bytes) == canPass)
  }

  @Test(
    "what the relay writes itself, or ends at it, no setting lets through",
    arguments: [
      "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "TE", "Trailer",
      "Proxy-Connection", "Content-Length", "Date", "Server", "Waystation-State",
      "Waystation-Anything", "X-Content-Type-Options",
    ])
  func own(name: String) {
    #expect(!AnswerFields(passing: [name]).passes(Array(name.utf8)[...]))
  }

  @Test("a field that is let through passes, and the relay's own stand beside it")
  func letThrough() throws {
    let response = try answer(
      [
        ("Link", "</2>; rel=next"), ("Location", "http://elsewhere/"), ("Cache-Control", "private"),
      ],
      passing: ["link", "LOCATION", "Cache-Control"])
    #expect(response.hasPrefix("Link: </2>; rel=next\r\nLocation: http://elsewhere/\r\n"))
    #expect(response.contains("Cache-Control: private\r\n") && !response.contains("no-store"))
    #expect(response.contains("Content-Security-Policy: sandbox"))
  }

  @Test(
    "a Location behind the base URL goes through the relay",
    arguments: [
      ("/base/new/1", "/new/1"), ("/base", "/"), ("/base?x=1", "/?x=1"), ("/base/#top", "/#top"),
      ("https://api.example/base/a?b#c", "/a?b#c"), ("HTTPS://API.example:443/base/a", "/a"),
      ("//api.example/base/a", "/a"), ("7", "/orders/7"), ("./7", "/orders/7"), ("../7", "/7"),
      ("../../base/7", "/7"), ("?page=2", "/orders/list?page=2"), ("#x", "/orders/list?q#x"),
      ("", "/orders/list?q"), ("a/b/../c/.", "/orders/a/c/"), ("..", "/"),
      ("x?u=http://elsewhere", "/orders/x?u=http://elsewhere"),
    ])
  func rewritten(location: String, path: String) throws {
    #expect(try self.location(location) == "/v1/relay/default\(path)")
  }

  @Test(
    "one that points anywhere else is told, and nobody follows it by itself",
    arguments: [
      "/", "/bases/x", "/other", "/v1/clients/truck-7/run", "../../x", "https://elsewhere.example/",
      "http://api.example/base/x", "https://api.example:8443/base/x", "//elsewhere.example/base/x",
      "https://api.example.evil/base/x", "https://api.example@evil/base/x", "javascript:alert(1)",
      "data:text/html,x", "/base/../v1/x", "/base/%2e%2e/x", "/base/..;/x", "/base\\..\\x",
      "/base//evil.example/", "mailto:a@b", "https:/base/x", "/base/caf\u{E9}",
    ])
  func elsewhere(location: String) throws {
    #expect(try self.location(location) == nil)
    let response = try answer([("Location", location)])
    #expect(!response.contains("\r\nLocation:") && !response.hasPrefix("Location:"))
    #expect(response.hasPrefix("Waystation-Upstream-Location: "))
  }

  private func location(_ text: String) throws -> String? {
    let rules = AnswerRules(upstream: "default", url: try UpstreamURL("https://api.example/base/"))
    let line = Array("Location: \(text)\r\n".utf8)
    return rules.location(line[10..<(line.count - 2)], from: Array("/orders/list?q".utf8))
      .map { String(decoding: $0, as: UTF8.self) }
  }

  private func answer(
    _ fields: [(String, String)], passing: [String] = []
  ) throws -> String {
    var headers = RelayCore.HeaderBlock()
    for (name, value) in fields { headers.append(name: name, value: value) }
    let rules = AnswerRules(
      upstream: "default", url: try UpstreamURL("https://api.example/base"),
      fields: AnswerFields(passing: passing))
    let response = UpstreamAnswer(id: id, state: .failed, target: Array("/".utf8), rules: rules)
      .response(
        UpstreamResponse(status: 404, headers: headers, body: [1, 2], isTruncated: true),
        status: 404)
    #expect(response.status == 404)
    return String(decoding: response.headers.bytes, as: UTF8.self)
  }
}
