import EventLoop
import HTTPServer
import Testing

@testable import RelayServer

@Suite("Where requests without a credential come from")
struct OriginPolicyTests {
  private func head(_ fields: String, target: String = "/status") throws -> RequestHead {
    let text = "GET \(target) HTTP/1.1\r\n\(fields)\r\n"
    return try #require(HTTPRequest(parsing: Array(text.utf8))).head
  }

  private func policy(_ hosts: String...) throws -> OriginPolicy {
    OriginPolicy(hosts: try hosts.map { try #require(KnownHost($0)) })
  }

  private func refusal(
    _ fields: String, target: String = "/status", _ policy: OriginPolicy, local: String? = nil,
    isSecured: Bool = false
  ) throws -> OriginPolicy.Refusal? {
    policy.refusal(
      of: try head(fields, target: target), to: local.flatMap(SocketAddress.init)?.host,
      isSecured: isSecured)
  }

  @Test(
    "this machine's own names and addresses are known",
    arguments: [
      "localhost", "LOCALHOST:8080", "localhost.", "a.localhost:1", "127.0.0.1:8080", "127.9.9.9",
      "[::1]:8080", "[0:0::1]", "0.0.0.0:80", "[::]", "[::ffff:127.0.0.1]:80",
    ])
  func own(host: String) throws {
    #expect(try refusal("Host: \(host)\r\n", policy()) == nil)
  }

  @Test(
    "any other is not",
    arguments: [
      "evil.example", "evil.example:8080", "localhost.evil.example", "evillocalhost",
      "127.0.0.1.evil",
      "128.0.0.1", "127.0.0", "127.1", "1270.0.0.1", "0127.0.0.1", "192.0.2.1",
      "[::2]", "[::ffff:192.0.2.1]", "relay", "2130706433",
    ])
  func others(host: String) throws {
    #expect(try refusal("Host: \(host)\r\n", policy()) == .unknownHost(host))
  }

  @Test("the address that a connection came to is known, in either of its forms")
  func local() throws {
    for (host, local) in [
      ("192.0.2.1:8080", "192.0.2.1:80"), ("192.0.2.1", "[::ffff:192.0.2.1]:80"),
      ("[::ffff:192.0.2.1]", "192.0.2.1:80"), ("[2001:db8::1]:1", "[2001:db8::1]:80"),
    ] {
      #expect(try refusal("Host: \(host)\r\n", policy(), local: local) == nil)
      #expect(try refusal("Host: \(host)\r\n", policy(), local: "192.0.2.2:80") != nil)
      #expect(try refusal("Host: \(host)\r\n", policy()) != nil)
    }
  }

  @Test("a configured host is known, at its port or at all, and so are those below a name")
  func configured() throws {
    let policy = try policy("Relay.Example", "other:8080", "*.fleet.example", "[2001:DB8::7]")
    for host in [
      "relay.example", "RELAY.example.:80", "other:8080", "a.fleet.example:1", "b.a.fleet.example",
      "[2001:db8::7]:80",
    ] {
      #expect(try refusal("Host: \(host)\r\n", policy) == nil, "\(host)")
    }
    for host in ["other", "other:80", "fleet.example", "xfleet.example", ".fleet.example"] {
      #expect(try refusal("Host: \(host)\r\n", policy) != nil, "\(host)")
    }
    #expect(try refusal("Host: anything.at.all\r\n", self.policy("*")) == nil)
  }

  @Test(
    "what is no host is refused in a configuration",
    arguments: [
      "", ":80", "a:", "a:70000", "a b", "a/b", "*.", "*a", "a*", "http://a", "*:80", ".",
    ])
  func rules(text: String) {
    #expect(KnownHost(text) == nil)
  }

  @Test("an absolute target's host counts in the place of the field's")
  func absolute() throws {
    #expect(
      try refusal("Host: localhost\r\n", target: "http://evil.example/status", policy())
        == .unknownHost("evil.example"))
    #expect(try refusal("Host: localhost\r\n", target: "http://[::1]:80/status", policy()) == nil)
  }

  @Test("HTTP/1.0 without a host is nobody's page")
  func noHost() throws {
    let request = try #require(HTTPRequest(parsing: Array("GET / HTTP/1.0\r\n\r\n".utf8)))
    #expect(try policy().refusal(of: request.head, to: nil, isSecured: false) == nil)
  }

  @Test("a page of the relay's own may ask, and no other one")
  func origins() throws {
    let policy = try policy("relay.example", "*.fleet.example")
    func site(_ fields: String, _ host: String = "127.0.0.1:8080", isSecured: Bool = false) throws
      -> Bool
    {
      try refusal("Host: \(host)\r\n\(fields)", policy, isSecured: isSecured) == nil
    }
    #expect(try site("Origin: http://127.0.0.1:8080\r\nSec-Fetch-Site: same-origin\r\n"))
    #expect(try site("Sec-Fetch-Site: none\r\n"))
    // A proxy that puts its own target into Host.
    #expect(try site("Origin: https://relay.example\r\nSec-Fetch-Site: same-origin\r\n"))
    #expect(try site("Origin: https://x.fleet.example:81\r\n", "x.fleet.example:81"))
    for fields in [
      "Sec-Fetch-Site: cross-site\r\n", "Sec-Fetch-Site: same-site\r\n", "Sec-Fetch-Site: odd\r\n",
      "sec-fetch-site: none\r\nSec-Fetch-Site: cross-site\r\n", "Origin: null\r\n",
      "Origin: http://evil.example\r\n", "Origin: http://127.0.0.1:8081\r\n",
      "Origin: http://127.0.0.1\r\n", "Origin: http://localhost:8080\r\n",
      "Origin: https://relay.example:444\r\n", "Origin: https://a.fleet.example\r\n",
      "Origin: file://\r\n", "Origin: http://127.0.0.1:8080, http://evil.example\r\n",
      "Origin: http://127.0.0.1:8080\r\nOrigin: http://evil.example\r\n",
      "Origin: http://127.0.0.1:8080\r\nSec-Fetch-Site: cross-site\r\n",
    ] {
      #expect(try !site(fields), "\(fields)")
    }
    #expect(try !site("Origin: http://127.0.0.1:8080\r\n", isSecured: true))
    #expect(try site("Origin: https://127.0.0.1:8080\r\n", isSecured: true))
  }

  @Test("a stranger may have what everybody may, and is told no reasons")
  func strangers() {
    for route in Route.all {
      let expected: AccessRules.Verdict =
        route.access.isForEverybody ? .allowed : .unknownCaller
      #expect(AccessRules.verdict(on: route.access, for: .stranger, isOpen: true) == expected)
    }
    #expect(AccessRules.seesReasons(.anonymous, isOpen: true))
    #expect(!AccessRules.seesReasons(.stranger, isOpen: true))
  }
}
