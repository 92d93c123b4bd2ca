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
    (
      #""url": "http://x", "credentials": {}"#,
      [#"credentials.kind: expected "basic", "bearer", "aws-sigv4" or "oauth2" but found nothing"#]
    ),
    (
      #""url": "http://x", "credentials": {"kind": "basic", "user": "a:b", "token": "x"}"#,
      [
        "credentials.user: expected a name without a colon, such as `${NAME}` but found something"
          + " else",
        "credentials.password: is missing: \"basic\" needs it",
        "credentials.token: does not go with \"basic\"",
      ]
    ),
    (
      #"""
      "url": "http://x", "headers": {"authorization": "x"},
      "credentials": {"kind": "bearer", "token": "two words", "tokn": "x"}
      """#,
      [
        "credentials.token: expected visible ASCII characters, such as `${file:PATH}` but found"
          + " something else",
        "credentials.tokn: unknown key; did you mean \"token\"?",
        "headers.authorization: the relay sets this field by \"credentials\"; name one of the two",
      ]
    ),
    (
      #"""
      "url": "http://x", "headers": {"X-Amz-Date": "x"},
      "credentials": {"kind": "aws-sigv4", "region": "a/b", "service": "s3", "accessKey": "a/b"}
      """#,
      [
        #"credentials.region: expected a region, such as "eu-central-1", but found "a/b""#,
        #"credentials.accessKey: expected visible ASCII characters without "/" and "," but found"#
          + " something else",
        "credentials.secretKey: is missing: \"aws-sigv4\" needs it",
        "headers.X-Amz-Date: the relay sets this field by \"credentials\"; name one of the two",
      ]
    ),
    (
      #"""
      "url": "http://x",
      "credentials": {"kind": "oauth2", "tokenURL": "id?x", "clientID": "a", "keyID": "b"}
      """#,
      [
        "credentials.tokenURL: expected a URL without a query, `http` or `https`, but found"
          + #" "id?x""#,
        "credentials: \"oauth2\" needs one of \"clientSecret\" and \"privateKey\", and no two",
        "credentials.keyID: goes with \"privateKey\"",
      ]
    ),
    (
      #""url": "http://x", "credentials": {"kind": "bearer", "token": "${NOWHERE}"}"#,
      ["credentials.token: the environment variable NOWHERE is not set, or is empty"]
    ),
  ]

  @Test("a mistake is told with the key's path", arguments: refused)
  func refuses(members: String, expected: [String]) {
    let found = problems("{\"upstreams\": {\"a\": {\(members)}}}")
    #expect(Set(found) == Set(expected.map { "upstreams.a.\($0)" }))
  }

  @Test("a user and a password, and a token, are sent as their kinds say, and are hidden")
  func authorization() throws {
    let file = """
      {"upstreams": {
        "b": {"url": "http://x", "credentials": {"kind": "basic", "user": "Aladdin",
                                                 "password": "open ${WHAT}"}},
        "t": {"url": "http://x", "credentials": {"kind": "bearer", "token": "${WHAT}"}}}}
      """
    let loaded = try loadConfiguration(file, environment: ["WHAT": "sesame"]).get()
    // The example of RFC 7617 section 2.
    let values = ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Bearer sesame"]
    #expect(loaded.upstreams.map { $0.credentials?.authorization?.value } == values)
    #expect(loaded.upstreams[0].hiddenTexts.contains("QWxhZGRpbjpvcGVuIHNlc2FtZQ=="))
    #expect(loaded.upstreams[0].hiddenTexts.contains("open sesame"))
    #expect(loaded.upstreams[1].hiddenTexts == ["sesame"])
    for text in [loaded.description, "\(loaded)", String(reflecting: loaded)] {
      #expect(!text.contains("sesame") && !text.contains("Aladdin") && !text.contains("QWxh"))
    }
  }
}
