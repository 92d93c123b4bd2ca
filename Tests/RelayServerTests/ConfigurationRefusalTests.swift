import RelayServer
import Testing

/// A file with one upstream whose object holds `members` besides its URL.
private func upstream(_ members: String) -> String {
  #"{"upstreams": {"a": {"url": "http://x", \#(members)}}}"#
}

/// A file with one upstream, and `members` besides.
private func file(_ members: String) -> String {
  #"{"upstreams": {"a": {"url": "http://x"}}, \#(members)}"#
}

@Suite("Refusing a configuration")
struct ConfigurationRefusalTests {
  static let whole = "a whole number from"

  static let refused: [(String, [String])] = [
    ("[]", ["expected an object but found []"]),
    (
      #"{"listn": 1, "upstreams": {"a": {"url": "http://x", "retyr": {}}}}"#,
      [
        #"upstreams.a.retyr: unknown key; did you mean "retry"?"#,
        #"listn: unknown key; did you mean "listen"?"#,
      ]
    ),
    (file(#""something": {}"#), ["something: unknown key"]),
    (file(#""a.b": 1"#), [#""a.b": unknown key"#]),
    (
      file(#""limits": {"BodyBytesMax": 1}"#),
      [#"limits.BodyBytesMax: unknown key; did you mean "bodyBytesMax"?"#]
    ),
    (file(#""limits": 5"#), ["limits: expected an object but found 5"]),
    (
      file(#""limits": {"bodyBytesMax": "1", "connectionsMax": 0, "headerCountMax": 1.5}"#),
      [
        #"limits.bodyBytesMax: expected a whole number from 1 to 1073741824 but found "1""#,
        "limits.connectionsMax: expected a whole number from 1 to 1000000 but found 0",
        "limits.headerCountMax: expected a whole number from 1 to 10000 but found 1.5",
      ]
    ),
    (
      file(#""retention": {"failedSeconds": -1}"#),
      ["retention.failedSeconds: expected a whole number from 0 to 3155760000 but found -1"]
    ),
    (
      file(#""listen": "8080""#),
      [
        "listen: expected an address and a port, as in 127.0.0.1:8080 or [::1]:8080, a socket's"
          + " path, as in unix:/run/waystation.sock, or a socket of the service manager's, as in"
          + " systemd:web, or an array of such but found \"8080\""
      ]
    ),
    (
      file(#""listen": ["127.0.0.1:1", "127.0.0.1:1"]"#), ["listen: 127.0.0.1:1 stands there twice"]
    ),
    (file(#""data": """#), [#"data: expected the path of a folder but found """#]),
    (
      file(#""log": {"level": "loud"}"#),
      [#"log.level: expected "debug", "info", "warning" or "error" but found "loud""#]
    ),
    (
      upstream(#""retry": {"factor": 0.5}"#),
      ["upstreams.a.retry.factor: expected a number from 1.0 to 100.0 but found 0.5"]
    ),
    (
      upstream(#""onFailure": "stop""#),
      [#"upstreams.a.onFailure: expected "skip" or "block" but found "stop""#]
    ),
    (
      upstream(#""connectTimeoutMs": 200000"#),
      [
        "upstreams.a.connectTimeoutMs: must not be above upstreams.a.attemptTimeoutMs:"
          + " 200000 is above 120000"
      ]
    ),
    (
      upstream(#""retry": {"firstDelayMs": 10, "maxDelayMs": 9}"#),
      [
        "upstreams.a.retry.firstDelayMs: must not be above upstreams.a.retry.maxDelayMs: 10"
          + " is above 9"
      ]
    ),
    (
      upstream(#""reachability": {"firstProbeDelayMs": 70000}"#),
      [
        "upstreams.a.reachability.firstProbeDelayMs: must not be above"
          + " upstreams.a.reachability.maxProbeDelayMs: 70000 is above 60000"
      ]
    ),
    (
      upstream(#""outcomes": {"deliver": ["2xx", 503]}"#),
      ["upstreams.a.outcomes: the status 503 stands under both retry and deliver"]
    ),
    (
      file(#""limits": {"memoryInFlightBytesMax": 1000000}"#),
      [
        "limits.bodyBytesMax: must not be above limits.memoryInFlightBytesMax: 10485760 is"
          + " above 1000000",
        "limits.batchBytesMax: must not be above three eighths of limits.memoryInFlightBytesMax:"
          + " 33554432 is above 375000",
      ]
    ),
    (
      file(#""limits": {"waitingEnvelopesMax": 5, "clientWaitingEnvelopesMax": 6}"#),
      [
        "limits.clientWaitingEnvelopesMax: must not be above limits.waitingEnvelopesMax: 6"
          + " is above 5"
      ]
    ),
    (
      upstream(#""idleTimeoutMs": 200000"#),
      [
        "upstreams.a.idleTimeoutMs: must not be above upstreams.a.attemptTimeoutMs:"
          + " 200000 is above 120000"
      ]
    ),
    (
      upstream(#""attemptTimeoutMs": null"#),
      [
        "upstreams.a.attemptTimeoutMs: may be null only where idleTimeoutMs is set: an attempt has"
          + " to end some time"
      ]
    ),
    (
      upstream(#""ambiguous": "verify""#),
      [#"upstreams.a.ambiguous: "verify" needs verify.path, where the upstream is asked"#]
    ),
    (
      upstream(#""verify": {"path": "/orders/{id}"}"#),
      [
        #"upstreams.a.verify: nothing is verified unless ambiguous is "verify"; it is "retry""#
      ]
    ),
    (
      upstream(#""ambiguous": "ask""#),
      [#"upstreams.a.ambiguous: expected "retry", "verify" or "block" but found "ask""#]
    ),
    (
      upstream(#""ambiguous": "verify", "verify": {"path": "/orders"}"#),
      [
        #"upstreams.a.verify.path: expected a path that begins with "/" and holds {id} or {key},"#
          + #" without blanks, other braces, and "." or ".." segments but found "/orders""#,
        #"upstreams.a.ambiguous: "verify" needs verify.path, where the upstream is asked"#,
      ]
    ),
    (
      upstream(#""startPaused": "yes""#),
      [#"upstreams.a.startPaused: expected true or false but found "yes""#]
    ),
    (
      file(#""lanes": {"a": {"order": "newest", "ttlSeconds": 0, "startPaused": 1, "ttl": 1}}"#),
      [
        #"lanes.a.order: expected "strict" or "latest" but found "newest""#,
        "lanes.a.ttlSeconds: expected a whole number from 1 to 3155760000, or null, but found 0",
        "lanes.a.startPaused: expected true or false but found 1",
        #"lanes.a.ttl: unknown key"#,
      ]
    ),
    (
      file(#""lanes": {"a": {"order": "latest", "gapTimeoutSeconds": 9}}"#),
      [
        "lanes.a.gapTimeoutSeconds: a lane of the order \"latest\" takes no sequence numbers, so it"
          + " has no gaps to wait for"
      ]
    ),
    (
      file(#""lanes": {"a*b": {}}, "clients": {"a b": {}}"#),
      [
        "lanes.a*b: a lane's name has 1 to 128 visible ASCII characters, without blanks; \"*\" may"
          + " stand at its end, for every name that begins so",
        "clients.\"a b\": a client's name has 1 to 128 visible ASCII characters, without blanks;"
          + " \"*\" may stand at its end, for every name that begins so",
      ]
    ),
    (
      file(#""collections": {"": ["a"], "b": [], "c": ["a", 1], "d": ["a", "a"]}"#),
      [
        "collections.\"\": a collection's name has 1 to 128 visible ASCII characters, without"
          + " blanks",
        "collections.b: expected an array of 1 to 1000 tags (each 1 to 128 visible ASCII"
          + " characters, without blanks) but found []",
        "collections.c: expected an array of 1 to 1000 tags (each 1 to 128 visible ASCII"
          + " characters, without blanks) but found [\"a\", 1]",
        "collections.d: the tag \"a\" stands there twice",
      ]
    ),
    (
      #"{"upstreams": {"a/b": {"url": "http://x"}}}"#,
      [#"upstreams.a/b: an upstream's name has 1 to 64 letters, digits, ".", "_" or "-""#]
    ),
    (
      #"{"upstreams": {"a": {}}}"#,
      ["upstreams.a.url: expected the upstream's base URL but found nothing"]
    ),
    (
      upstream(#""headers": {"a b": "x"}"#),
      ["upstreams.a.headers.\"a b\": not a field name (RFC 9110 section 5.1)"]
    ),
    (
      upstream(#""headers": {"Content-Length": "1"}"#),
      ["upstreams.a.headers.Content-Length: the relay sets this field itself"]
    ),
    (
      upstream(#""passHeaders": ["Link", "link", "a b", "Waystation-Id", "Content-Length"]"#),
      [
        "upstreams.a.passHeaders: link stands there twice",
        #"upstreams.a.passHeaders: "a b" is no field name (RFC 9110 section 5.1)"#,
        "upstreams.a.passHeaders: Waystation-Id is written by the relay itself, or ends at it",
        "upstreams.a.passHeaders: Content-Length is written by the relay itself, or ends at it",
      ]
    ),
    (
      upstream(#""passHeaders": "Link""#),
      [#"upstreams.a.passHeaders: expected an array of field names but found "Link""#]
    ),
    (
      upstream(#""signing": {"keys": []}"#),
      [
        "upstreams.a.signing.keys: expected an array of one key, or of two while one takes the"
          + " other's place but found something else"
      ]
    ),
    (
      upstream(#""signing": {"keys": ["whsec_c2hvcnQ="]}"#),
      [
        "upstreams.a.signing.keys[0]: expected \"whsec_\" and the base64 of 24 to 64 random bytes"
          + " but found something else"
      ]
    ),
    (
      upstream(
        #""signing": {"keys": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]},"#
          + #" "headers": {"Webhook-Id": "1"}"#),
      ["upstreams.a.headers.Webhook-Id: the relay sets this field, since it signs"]
    ),
    (
      upstream(#""headers": {"waystation-client": "1"}"#),
      ["upstreams.a.headers.waystation-client: the relay sets this field itself"]
    ),
    (
      upstream(#""headers": {"X": "1", "x": "2"}"#),
      [
        "upstreams.a.headers.x: the field is set twice (letters' case does not count in"
          + " field names)"
      ]
    ),
    (
      upstream(#""headers": {"X": ["s3cret"]}"#),
      ["upstreams.a.headers.X: expected a string but found an array"]
    ),
    (
      upstream(#""headers": {"X": "${NO_SUCH}"}"#),
      ["upstreams.a.headers.X: the environment variable NO_SUCH is not set, or is empty"]
    ),
    (
      upstream(#""headers": {"X": "${EMPTY}"}"#),
      ["upstreams.a.headers.X: the environment variable EMPTY is not set, or is empty"]
    ),
    (
      upstream(#""headers": {"X": "${OPEN"}"#),
      ["upstreams.a.headers.X: \"${\" is not closed by \"}\" (write \"$${\" for the text \"${\")"]
    ),
    (
      upstream(#""proxy": "socks://u:s3cret@x""#),
      [
        "upstreams.a.proxy: expected the URL of an HTTP proxy, as in"
          + " http://proxy.example:3128, but found something else"
      ]
    ),
    (
      "{\n  \"listen\": \"127.0.0.1:1\",\n  \"data\": tru\n}",
      [
        #"waystation.json is not valid JSON: expected "true" but found a line feed, at line"#
          + #" 3, column 14 (/data)"#
      ]
    ),
    (
      #"{"data": "a", "data": "b"}"#,
      [
        "waystation.json is not valid JSON: the object has this name twice, at line 1,"
          + " column 15 (/data)"
      ]
    ),
  ]

  @Test(
    "a mistake is told with the key's path, what was expected and what stands there",
    arguments: refused)
  func refuse(text: String, expected: [String]) {
    #expect(problems(text, environment: ["EMPTY": ""]) == expected)
  }

  @Test("a header's value with a line break, even from a variable, is refused and not shown")
  func headerInjection() {
    let found = problems(
      upstream(#""headers": {"X": "${V}"}"#), environment: ["V": "a\r\nEvil: s3cret"])
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("upstreams.a.headers.X: the value has a line break") == true)
  }

  static let badCodes = [
    "[99]", "[100]", "[600]", "[\"1xx\"]", "[\"6xx\"]", "[\"5XX\"]", "[\"50x\"]", "[\"503\"]",
    "[503.0]",
    "\"5xx\"", "[null]", "503", "{}",
  ]

  @Test("outcomes are status codes and classes, nothing else", arguments: badCodes)
  func outcomes(codes: String) {
    let found = problems(upstream(#""outcomes": {"retry": \#(codes)}"#))
    #expect(
      found == [
        "upstreams.a.outcomes.retry: expected an array of status codes from 200 to 599 and classes"
          + " from \"2xx\" to \"5xx\" but found \(codes)"
      ])
  }

  static let badURLs: [(String, String)] = [
    ("api.example.com", "begins with http"), ("ftp://x", "begins with http"), ("http://", "host"),
    ("http:///x", "host"), ("http://x:0", "port"), ("http://x:65536", "port"),
    ("http://x:", "port"),
    ("http://x y", "escaped"), ("http://é", "escaped"), ("http://x/\\u0022", "escaped"),
    ("http://user:s3cret@x", "user name"), ("http://x?key=s3cret", "query"),
    ("http://x#a", "fragment"),
    ("http://[::1", "host"), ("http://[zz]", "host"), ("http://::1", "host"),
    ("http://a%20b", "host"),
    ("http://x/../y", "segment"), ("http://x/./y", "segment"), ("http://x/%2", "escape"),
    ("http://x/%zz", "escape"),
  ]

  @Test(
    "an upstream's URL has a scheme, a host, perhaps a base path, and nothing else",
    arguments: badURLs)
  func urls(url: String, hint: String) {
    let found = problems(#"{"upstreams": {"a": {"url": "\#(url)"}}}"#)
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("upstreams.a.url: expected a URL ") == true)
    #expect(found.first?.contains(hint) == true)
    #expect(found.first?.contains("s3cret") == false)
  }

  @Test("without an upstream, the error says how to name one")
  func noUpstream() {
    for text in [nil, "{}", #"{"upstreams": {}}"#] {
      let found = problems(text)
      #expect(found.count == 1)
      #expect(found.first?.contains("--upstream default=https://api.example.com") == true)
    }
  }

  @Test("variables and flags are refused under their own names, all at once")
  func overrides() {
    var flags = ConfigurationFlags()
    flags.listen = ["localhost"]
    flags.data = ""
    flags.upstreams = ["https://x", "a=https://u:s3cret@x", "b=ftp://x"]
    flags.logLevel = "loud"
    let found = problems(
      nil,
      environment: [
        "WAYSTATION_LISTEN": " , ", "WAYSTATION_LOG_FORMAT": "xml", "WAYSTATION_LOG_ACCESS": "yes",
      ], flags: flags)
    let address =
      "an address and a port, as in 127.0.0.1:8080 or [::1]:8080, a socket's path, as in"
      + " unix:/run/waystation.sock, or a socket of the service manager's, as in systemd:web,"
    #expect(
      found == [
        "WAYSTATION_LISTEN: expected \(address) but found nothing",
        #"WAYSTATION_LOG_FORMAT: expected "auto", "json" or "text" but found "xml""#,
        #"WAYSTATION_LOG_ACCESS: expected "true" or "false" but found "yes""#,
        "--listen: expected \(address) but found \"localhost\"",
        "--data: expected the path of a folder but found nothing",
        "--upstream: expected NAME=URL, as in default=https://api.example.com, but found"
          + " \"https://x\"",
        "--upstream: expected for the upstream \"a\" a URL without a user name or password (use a"
          + " header for credentials) but found another one",
        "--upstream: expected for the upstream \"b\" a URL that begins with http:// or https:// but"
          + " found \"ftp://x\"",
        #"--log-level: expected "debug", "info", "warning" or "error" but found "loud""#,
      ])
  }

  @Test("every problem of a file is told at once")
  func allAtOnce() {
    let found = problems(
      """
      {"listen": 1, "upstreams": {"a": {"url": "x", "maxConcurrent": 0}, "b": 3},
       "limits": {"connectionsMax": -1}, "extra": true}
      """)
    #expect(
      found.map { $0.prefix { $0 != ":" } } == [
        "listen", "upstreams.a.url", "upstreams.a.maxConcurrent", "upstreams.b",
        "limits.connectionsMax", "extra",
      ])
  }
}
