import RelayCore
import RelayServer
import Testing

@Suite("Who may use it, as it is configured")
struct AccessConfigurationTests {
  private static let digest = String(repeating: "5a", count: 32)
  private static let upstream = #""upstreams": {"a": {"url": "http://x"}}"#

  private func file(_ access: String, _ more: String = "") -> String {
    #"{"access": \#(access)\#(more), \#(Self.upstream)}"#
  }

  @Test("operators and keys are read from the file, operators also from a variable, which wins")
  func good() throws {
    let text = file(
      """
      {"operators": {"ops": {"role": "read", "tokenSHA256": "\(Self.digest)"}},
       "clientKeys": {"fleet_1": {"secrets": ["${KEY}", "\(Self.digest)"], "clients": ["a-*", "b"]
       }}}
      """)
    let environment = [
      "KEY": String(repeating: "0F", count: 64), "WAYSTATION_OPERATORS": "ops=steer:\(Self.digest)",
    ]
    let access = try loadConfiguration(text, environment: environment).get().access
    #expect(access.operators.map(\.name) == ["ops"] && access.operators[0].role == .steer)
    #expect(
      access.clientKeys[0].clients == ["a-*", "b"] && access.clientKeys[0].secrets.count == 2)
    let shown = try loadConfiguration(text, environment: environment).get().description
    #expect(!shown.contains("0F0F") && shown.contains("(hidden)"))
  }

  static let refused: [(String, String)] = [
    (#"{"hosts": "relay"}"#, "access.hosts: expected an array of hosts"),
    (#"{"hosts": ["relay", "http://relay"]}"#, "access.hosts: expected an array of hosts"),
    (#"{"anonymous": "yes"}"#, "access.anonymous: expected \"allow\" or \"refuse\""),
    (#"{"anonymous": "refuse"}"#, "access.anonymous: is \"refuse\", and no credential"),
    (#"{"operators": {"a b": {}}}"#, "access.operators.\"a b\": expected a name of letters"),
    (#"{"operators": {"a": {"role": "root", "tokenSHA256": "5a"}}}"#, "access.operators.a.role:"),
    (
      #"{"operators": {"a": {"role": "read", "tokenSHA256": "wso_hunter2"}}}"#,
      "access.operators.a.tokenSHA256: expected the 64 hexadecimal digits"
    ),
    (#"{"operators": {"a": {}}}"#, "access.operators.a.role: expected"),
    (#"{"clientKeys": {"k": {}}}"#, "access.clientKeys.k.secrets: expected one or two secrets"),
    (#"{"clientKeys": {"k": {"secrets": "hunter2"}}}"#, "access.clientKeys.k.secrets: expected"),
    (#"{"clientKeys": {"k": {"secrets": "5a5a"}}}"#, "access.clientKeys.k.secrets: expected"),
    (#"{"clientKeys": {"k.1": {"secrets": []}}}"#, "access.clientKeys.\"k.1\": expected a name"),
    (#"{"clientKeys": {"k": {"secrets": []}}}"#, "found 0 secrets"),
    (#"{"clientKeys": {"k": {"secrets": "${NONE}"}}}"#, "the environment variable NONE is not set"),
    (
      #"{"clientKeys": {"k": {"secrets": "\#(digest)", "clients": "a*b"}}}"#,
      "access.clientKeys.k.clients: expected a client's name"
    ),
    (#"{"tokensMax": -1}"#, "access.tokensMax: expected a whole number"),
    (#"{"keys": {}}"#, "access.keys: unknown key"),
  ]

  @Test("what makes no sense is refused by its key, and no secret is shown", arguments: refused)
  func bad(access: String, expected: String) {
    let found = problems(file(access))
    #expect(found.contains { $0.contains(expected) }, "\(found)")
    #expect(!found.contains { $0.contains("hunter2") })
  }

  @Test("a variable that is no operator is refused without being shown")
  func badVariable() {
    for text in ["ops", "ops=steer", "ops=root:\(Self.digest)", "o.p=read:\(Self.digest)", "=:"] {
      let found = problems(file("{}"), environment: ["WAYSTATION_OPERATORS": text])
      #expect(found.count == 1 && found[0].contains("NAME=ROLE:DIGEST"), "\(found)")
      #expect(!found[0].contains("root"))
    }
  }

  @Test("an address that others can reach needs a credential, or that it is said to be meant")
  func listeners() {
    let key = #"{"clientKeys": {"k": {"secrets": "\#(Self.digest)"}}}"#
    for address in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80", "[2001:db8::1]:80"] {
      let listen = #", "listen": ["127.0.0.1:81", "\#(address)"]"#
      #expect(problems(file("{}", listen)).count == 1)
      #expect(problems(file(key, listen)).isEmpty)
      #expect(problems(file(#"{"anonymous": "allow"}"#, listen)).isEmpty)
      #expect(problems(file("{}", listen), environment: ["WAYSTATION_ANONYMOUS": "allow"]).isEmpty)
    }
    for address in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "unix:/run/w.sock"] {
      #expect(problems(file("{}", #", "listen": "\#(address)""#)).isEmpty)
    }
  }
}
