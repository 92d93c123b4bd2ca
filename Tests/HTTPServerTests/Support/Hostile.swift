/// A head that has to be refused, and the status to refuse it with.
struct Hostile: Sendable, CustomStringConvertible {
  let name: String
  let text: String
  let status: Int

  var description: String { name }

  private init(_ name: String, _ text: String, _ status: Int = 400) {
    self.name = name
    self.text = text
    self.status = status
  }

  /// A request line, with a sound rest.
  private static func line(_ line: String, _ status: Int = 400) -> Hostile {
    Hostile("line: \(line)", "\(line)\r\nHost: h\r\n\r\n", status)
  }

  /// Fields beside a sound request line and Host.
  private static func fields(_ fields: String, _ status: Int = 400) -> Hostile {
    Hostile("fields: \(fields)", "POST / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n\r\n", status)
  }

  static let all = lines + targets + lineEnds + hosts + lengths + codings + others

  private static let lines = [
    line("GET"), line("GET /"), line("GET  / HTTP/1.1"), line("GET /  HTTP/1.1"),
    line("GET / HTTP/1.1 "), line(" GET / HTTP/1.1"), line("GET\t/ HTTP/1.1"),
    line("GET /\tHTTP/1.1"), line("GET / http/1.1"), line("GET / HTTP/1,1"),
    line("GET / HTTP/11"), line("GET / HTTP/1.10"), line("GET / HTTP/01.1"), line("GET / HTP/1.1"),
    line("G(T / HTTP/1.1"), line("/ HTTP/1.1"), line("GET / HTTP/0.9", 505),
    line("GET / HTTP/2.0", 505), line("PRI * HTTP/2.0", 505), line("GET / HTTP/3.0", 505),
    line("GET /a b HTTP/1.1"), line("{\"path\":\"/\"}"), line("\u{16}\u{3}\u{1}\u{2}\u{0}"),
  ]

  private static let targets = [
    line("GET a HTTP/1.1"), line("GET * HTTP/1.1"), line("OPTIONS ** HTTP/1.1"),
    line("GET h:80 HTTP/1.1"), line("CONNECT h:80 HTTP/1.1", 501), line("GET ftp://h/ HTTP/1.1"),
    line("GET http:///a HTTP/1.1"), line("GET http://a@b/ HTTP/1.1"), line("GET /a#b HTTP/1.1"),
    line("GET /a\u{0}b HTTP/1.1"), line("GET /a\u{7F}b HTTP/1.1"), line("GET /caf\u{e9} HTTP/1.1"),
    line("GET /\"a\" HTTP/1.1"), line("GET /<a> HTTP/1.1"), line("GET http://h:x/ HTTP/1.1"),
  ]

  private static let lineEnds = [
    Hostile("bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n"),
    Hostile("bare LF after a field", "GET / HTTP/1.1\r\nHost: h\nX: 1\r\n\r\n"),
    Hostile("bare LF as the empty line", "GET / HTTP/1.1\r\nHost: h\r\n\n"),
    Hostile("bare LF first", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    Hostile("bare CR in the request line", "GET /\r HTTP/1.1\r\nHost: h\r\n\r\n"),
    Hostile("bare CR in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n"),
    Hostile("two CR before LF", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n"),
    Hostile("many empty lines first", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    fields("X: a\r\n b"), fields("X: a\r\n\tb"), fields(" X: a"),
    fields("X : a"), fields("X\t: a"), fields("X"), fields(": a"), fields("X\u{0}: a"),
    fields("X: a\u{0}b"), fields("X: a\u{1}b"), fields("X Y: a"), fields("X(: a"),
  ]

  private static let hosts =
    [
      Hostile("no Host", "GET / HTTP/1.1\r\nX: 1\r\n\r\n"),
      Hostile("no fields", "GET / HTTP/1.1\r\n\r\n"),
      fields("Host: h"), fields("host: other"),
      Hostile("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
    ]
    + [
      "", "a b", "a/b", "a,b:x", "a:99999", "a:-1", "a:80:80", "[::1", "::1]", "[]", "a@b", ":80",
      "[g::1]", "http://h", "[::1]x",
    ].map { Hostile("Host \($0)", "GET / HTTP/1.1\r\nHost: \($0)\r\n\r\n") }

  private static let lengths =
    ["+5", "-5", "5, 5", "5,5", "5 5", "0x5", "5.0", "", "five", "9223372036854775808", "5;", "５"]
    .map { fields("Content-Length: \($0)") } + [
      fields("Content-Length: 5\r\nContent-Length: 5"),
      fields("Content-Length: 5\r\ncontent-length: 6"),
      fields("Content-Length: 99999999999999999999999999999999"),
      fields("Content-Length: 5\r\nTransfer-Encoding: chunked"),
      fields("Transfer-Encoding: chunked\r\nContent-Length: 5"),
    ]

  private static let codings =
    [
      "", "identity", "xchunked", "chunked, chunked", "chunked, gzip", "chunked;a=b", "chunked,",
      ",chunked", "chunked gzip", "\"chunked\"", "chunked\u{b}",
    ]
    .map { fields("Transfer-Encoding: \($0)") } + [
      fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
      fields("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
      fields("Transfer-Encoding: gzip, chunked", 501),
      fields("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", 501),
      Hostile(
        "Transfer-Encoding in HTTP/1.0",
        "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ]

  private static let others = [
    fields("Expect: 200-ok", 417), fields("Expect: 100-continue, x", 417), fields("Expect:", 417),
  ]
}
