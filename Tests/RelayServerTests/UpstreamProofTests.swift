import RelayServer
import Testing

@Suite("How an upstream knows the relay")
struct UpstreamProofTests {
  static let refused: [(String, [String])] = [
    (
      #""url": "http://x", "clientCertificate": "/c.pem""#,
      [
        "clientCertificate: goes with \"clientKey\", the file of its key",
        "clientCertificate: needs a url with https: nothing is shown without TLS",
      ]
    ),
    (
      #""url": "https://x", "clientKey": "/k.pem", "minTLSVersion": "1.1""#,
      [
        #"minTLSVersion: expected "1.2" or "1.3" but found "1.1""#,
        "clientKey: goes with \"clientCertificate\", the file of its certificate",
      ]
    ),
  ]

  @Test("a mistake is told with the key's path", arguments: refused)
  func refuses(members: String, expected: [String]) {
    let found = problems("{\"upstreams\": {\"a\": {\(members)}}}")
    #expect(Set(found) == Set(expected.map { "upstreams.a.\($0)" }))
  }
}
