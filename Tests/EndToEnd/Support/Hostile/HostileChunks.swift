/// The chunked coding (RFC 9112 section 7.1).
enum HostileChunks {
  static let rows = broken + oversized + sound

  private static func body(_ body: String, path: String = "/half") -> String {
    Wire.head("Transfer-Encoding: chunked", path: path) + body
  }

  private static let broken: [HostileRow] = [
    ("no size", "\r\nabc\r\n0\r\n\r\n"), ("a size that is no number", "xyz\r\nabc\r\n0\r\n\r\n"),
    ("a size with 0x", "0x3\r\nabc\r\n0\r\n\r\n"), ("a size with a plus", "+3\r\nabc\r\n0\r\n\r\n"),
    ("a size below zero", "-3\r\nabc\r\n0\r\n\r\n"),
    ("a blank before a size", " 3\r\nabc\r\n0\r\n\r\n"),
    ("a blank behind a size", "3 \r\nabc\r\n0\r\n\r\n"),
    ("a tab behind a size", "3\t\r\nabc\r\n0\r\n\r\n"),
    ("a size with an underscore", "0_3\r\nabc\r\n0\r\n\r\n"),
    ("two sizes", "3 3\r\nabc\r\n0\r\n\r\n"), ("a size and a comma", "3,\r\nabc\r\n0\r\n\r\n"),
    ("a size of 17 digits", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
    ("a size past Int64", "8000000000000000\r\nabc\r\n0\r\n\r\n"),
    ("a size past UInt64", "FFFFFFFFFFFFFFFF3\r\nabc\r\n0\r\n\r\n"),
    ("a bare LF behind a size", "3\nabc\r\n0\r\n\r\n"),
    ("a bare CR behind a size", "3\rabc\r\n0\r\n\r\n"),
    ("CR CR LF behind a size", "3\r\r\nabc\r\n0\r\n\r\n"),
    ("a bare LF behind the data", "3\r\nabc\n0\r\n\r\n"),
    ("a bare CR behind the data", "3\r\nabc\r0\r\n\r\n"),
    ("no end behind the data", "3\r\nabc0\r\n\r\n"),
    ("more data than its size", "3\r\nabcd\r\n0\r\n\r\n"),
    ("less data than its size", "5\r\nabc\r\n0\r\n\r\n" + Wire.smuggled),
    ("two other bytes behind the data", "3\r\nabcXX0\r\n\r\n"),
    ("a NUL in a size line", "3\u{0}\r\nabc\r\n0\r\n\r\n"),
    ("an extension without a semicolon", "3 x=1\r\nabc\r\n0\r\n\r\n"),
    ("a bare LF in an extension", "3;x\nabc\r\n0\r\n\r\n"),
    ("a bare CR in an extension", "3;x\ry\r\nabc\r\n0\r\n\r\n"),
    ("a NUL in an extension", "3;x=\u{0}\r\nabc\r\n0\r\n\r\n"),
    ("a line end in a quoted extension", "3;x=\"\n\"\r\nabc\r\n0\r\n\r\n"),
    ("a request in an extension", "3;\n\(Wire.smuggled)\r\nabc\r\n0\r\n\r\n"),
    ("a last chunk with a bare LF", "0\n\n" + Wire.smuggled),
    ("a last chunk with one bare LF", "0\r\n\n" + Wire.smuggled),
    ("a size in full-width digits", "\u{EF}\u{BC}\u{93}\r\nabc\r\n0\r\n\r\n"),
    ("a trailer that is no field", "0\r\nnonsense\r\n\r\n"),
    ("a folded trailer", "0\r\nX: a\r\n b\r\n\r\n"),
    ("a trailer with a blank before its colon", "0\r\nX : a\r\n\r\n"),
    ("a trailer with a bare LF", "0\r\nX: a\n\r\n"),
    ("a trailer with a NUL", "0\r\nX: a\u{0}\r\n\r\n"),
    ("a request as the trailer", "0\r\n" + Wire.smuggled),
  ].map { .malformed("chunks with \($0.0)", body($0.1)) }

  private static let oversized: [HostileRow] = [
    .malformed(
      "a size line of 300 zeros", body(String(repeating: "0", count: 300) + "3\r\nabc\r\n")),
    .malformed("a size line without an end", body(String(repeating: "0", count: 100_000))),
    .malformed(
      "an extension of 300 bytes", body("3;" + String(repeating: "x", count: 300) + "\r\nabc\r\n")),
    .malformed(
      "more extension than the fields may have",
      body(String(repeating: "1;\(String(repeating: "x", count: 250))\r\na\r\n", count: 200))),
    .malformed(
      "133 trailer fields",
      body("0\r\n" + (0..<133).map { "X-\($0): 1\r\n" }.joined() + "\r\n")),
    .malformed(
      "a trailer of 50,000 bytes",
      body("0\r\nX: " + String(repeating: "a", count: 50_000) + "\r\n\r\n")),
    .malformed(
      "a trailer without an end", body("0\r\nX: " + String(repeating: "a", count: 100_000))),
    .refused(
      413, "body-too-large", "a chunk of Int64.max bytes that goes on and on",
      Wire.bytes(body("7FFFFFFFFFFFFFFF\r\n" + String(repeating: "a", count: 1_200_000)))),
    .refused(
      413, "body-too-large", "more in chunks than a body may have",
      Wire.bytes(
        body(String(repeating: "10000\r\n\(String(repeating: "a", count: 65_536))\r\n", count: 18)))
    ),
  ]

  private static let sound: [HostileRow] = [
    ("a size in capitals, with zeros first", "0000000A\r\nabcdefghij\r\n0\r\n\r\n"),
    ("many zeros as the last chunk", "3\r\nabc\r\n000000\r\n\r\n"),
    ("a short extension", "3;x=1;y=\"a;b\"\r\nabc\r\n0;last\r\n\r\n"),
    ("a blank before an extension", "3 ;x\r\nabc\r\n0\r\n\r\n"),
    ("a trailer that names a length", "3\r\nabc\r\n0\r\nContent-Length: 44\r\n\r\n"),
    ("a trailer that names a coding", "3\r\nabc\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n"),
    ("a trailer that names the client", "3\r\nabc\r\n0\r\nWaystation-Client: thief\r\n\r\n"),
    ("a trailer that names a host", "3\r\nabc\r\n0\r\nHost: evil.example\r\n\r\n"),
    ("a request in a chunk", "7a\r\n\(pad(Wire.smuggled, to: 0x7A))\r\n0\r\n\r\n"),
    ("chunks of one byte", String(repeating: "1\r\na\r\n", count: 2000) + "0\r\n\r\n"),
  ].map { .taken("chunks with \($0.0)", Wire.bytes(body($0.1, path: "/taken"))) }

  private static func pad(_ text: String, to count: Int) -> String {
    text + String(repeating: "x", count: count - text.utf8.count)
  }
}
