/// Batches, and what they are packed in.
enum HostileBatches {
  static let rows = arrays + lines + types + packed

  private static let item = "{\"client\":\"hostile\",\"path\":\"/half\"}"
  private static let good = "{\"client\":\"hostile\",\"path\":\"/taken\"}"

  private static func lines(_ text: String, _ fields: [String] = []) -> [UInt8] {
    Wire.post(Wire.bytes(text), type: "application/x-ndjson", fields)
  }

  private static let arrays: [HostileRow] = [
    .answered(422, "invalid-field", "an empty batch", Wire.post(Wire.bytes("[]"))),
    .answered(400, "malformed-json", "a batch without its end", Wire.post(Wire.bytes("[\(item)"))),
    .answered(
      400, "malformed-json", "a batch that ends in a comma", Wire.post(Wire.bytes("[\(item),]"))),
    .answered(
      400, "malformed-json", "a batch with two commas",
      Wire.post(Wire.bytes("[\(item),,\(item)]"))),
    .answered(400, "malformed-json", "two batches", Wire.post(Wire.bytes("[\(item)][\(item)]"))),
    .answered(
      413, "batch-too-large", "a batch of 1,001 items",
      Wire.post(Wire.bytes("[" + String(repeating: item + ",", count: 1000) + item + "]"))),
    .answered(
      413, "batch-too-large", "a batch of a million zeros",
      Wire.post(Wire.bytes("[0" + String(repeating: ",0", count: 1_000_000) + "]"))),
    .answered(
      422, "batch-rejected", "a batch of a thousand bad items",
      Wire.post(
        Wire.bytes(
          "[7" + String(repeating: ",{\"x\":[}", count: 0) + String(repeating: ",7", count: 999)
            + "]"))),
    .answered(422, "batch-rejected", "a batch in a batch", Wire.post(Wire.bytes("[[\(item)]]"))),
    .answered(
      422, "batch-rejected", "one bad item where all or nothing was asked for",
      Wire.post(Wire.bytes("[\(item),{\"client\":\"hostile\"}]"), ["Prefer: handling=strict"])),
    .answered(
      422, "batch-rejected", "one broken item where all or nothing was asked for",
      Wire.post(Wire.bytes("[\(item),{\"client\":}]"), ["Prefer: HANDLING=\"strict\""])),
    .taken(
      "a good item between bad ones",
      Wire.post(Wire.bytes("[{\"client\":},\(good),{\"path\":\"/half\"},7,null,\"x\"]"))),
  ]

  private static let lines: [HostileRow] = [
    .answered(422, "invalid-field", "no line", lines("")),
    .answered(
      422, "invalid-field", "empty lines alone", lines(String(repeating: "\r\n", count: 100_000))),
    .answered(422, "batch-rejected", "a line that is an array", lines("[\(item)]")),
    .answered(422, "batch-rejected", "two values on a line", lines(item + item)),
    .answered(
      422, "batch-rejected", "a value over two lines",
      lines("{\"client\":\"hostile\",\n\"path\":\"/half\"}")),
    .answered(422, "batch-rejected", "lines that end in a bare CR", lines(item + "\r" + item)),
    .answered(
      422, "batch-rejected", "lines that end in U+2028", lines(item + "\u{E2}\u{80}\u{A8}" + item)),
    .answered(422, "batch-rejected", "a NUL behind a line", lines(item + "\u{0}")),
    .answered(
      422, "batch-rejected", "a byte order mark before a line", lines("\u{EF}\u{BB}\u{BF}" + item)),
    .answered(
      413, "batch-too-large", "1,001 lines", lines(String(repeating: item + "\n", count: 1001))),
    .taken("a last line that is cut short", lines(good + "\n" + item.dropLast())),
    .taken("bad UTF-8 on another line", lines("{\"client\":\"\u{FF}\"}\n" + good)),
    .answered(
      422, "batch-rejected", "a line that is cut short where all or nothing was asked for",
      lines(item + "\n" + item.dropLast(), ["Prefer: handling=strict"])),
    .taken(
      "preferences that make no sense",
      lines(
        good,
        ["Prefer: wait=-1, handling=\"str\\", "Prefer: ;;;,,,=,\"", "Prefer: handling=lenient"])),
  ]

  private static let types: [HostileRow] =
    [
      "text/plain", "application/x-www-form-urlencoded", "application/json, text/plain", "json", "",
      "application/jsonx", "multipart/form-data; boundary=x",
    ].map {
      .answered(
        415, "unsupported-media-type", "the type \($0)", Wire.post(Wire.bytes(item), type: $0))
    } + [
      .answered(
        415, "unsupported-media-type", "no type",
        Wire.request("POST /v1/envelopes", body: Wire.bytes(item)))
    ]
    + ["br", "deflate", "gzip, gzip", "gzip, identity", "zstd", "gzip;q=1", "GZIP2"].map {
      .answered(
        415, "unsupported-content-encoding", "the coding \($0)",
        Wire.post(Wire.bytes(item), ["Content-Encoding: \($0)"]))
    } + [
      .answered(
        415, "unsupported-content-encoding", "two codings in two fields",
        Wire.post(Wire.bytes(item), ["Content-Encoding: gzip", "Content-Encoding: gzip"]))
    ]

  private static func gzipped(_ bytes: [UInt8]) -> [UInt8] {
    Wire.post(bytes, ["Content-Encoding: gzip"])
  }

  private static let member = gzip(Wire.bytes(item))

  private static func bad(_ name: String, _ bytes: [UInt8]) -> HostileRow {
    .answered(400, "bad-content-encoding", "gzip: \(name)", gzipped(bytes))
  }

  private static let packed: [HostileRow] = [
    bad("nothing", []), bad("no gzip at all", Wire.bytes(item)),
    bad("its first byte alone", [0x1F]),
    bad("its head alone", Array(member.prefix(10))), bad("half of it", Array(member.prefix(30))),
    bad("all but the last byte", Array(member.dropLast())),
    bad("a wrong checksum", Array(member.dropLast(8)) + [0, 0, 0, 0] + member.suffix(4)),
    bad("a wrong length", Array(member.dropLast(4)) + [1, 0, 0, 0]),
    bad("garbage behind it", member + [0, 0, 0]),
    bad("half a member behind it", member + member.prefix(12)),
    bad("a magic byte behind it", member + [0x1F]),
    bad("another method", [0x1F, 0x8B, 7] + member.dropFirst(3)),
    bad("flags that nobody knows", [0x1F, 0x8B, 8, 0xE0] + member.dropFirst(4)),
    bad("zlib's own form", [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1]),
    bad("a block of an unknown kind", Array(member.prefix(10)) + [7, 0, 0]),
    bad(
      "a stored block whose lengths differ", Array(member.prefix(10)) + [1, 5, 0, 5, 0, 1, 2, 3]),
    bad(
      "a file name without an end",
      [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 65, count: 100_000)),
    .answered(400, "malformed-json", "gzip: gzip in gzip", gzipped(gzip(member))),
    .answered(
      400, "malformed-json", "gzip: two envelopes in two members", gzipped(member + member)),
    .taken(
      "gzip: one envelope in two members",
      gzipped(
        gzip(Array(Wire.bytes(good).prefix(9))) + gzip(Array(Wire.bytes(good).dropFirst(9))))),
    .answered(
      400, "malformed-json", "gzip: fifty thousand empty members",
      gzipped((0..<50_000).flatMap { _ in gzip([]) })),
    HostileRow(
      name: "gzip: a bomb, a hundred and fifty to one",
      steps: [.send(gzipped(GzipBomb.bytes(ofZeros: 64 << 20)))],
      answers: [.init(status: 413, problem: "batch-too-large")], ending: .closed),
    .refused(
      413, "batch-too-large", "gzip: a bomb in chunks",
      Wire.bytes(
        "POST /v1/envelopes HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"
          + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
        + Wire.bytes(String(GzipBomb.bytes(ofZeros: 64 << 20).count, radix: 16) + "\r\n")
        + GzipBomb.bytes(ofZeros: 64 << 20) + Wire.bytes("\r\n0\r\n\r\n")),
    .answered(
      400, "malformed-json", "gzip: nothing at all, packed", gzipped(GzipBomb.bytes(ofZeros: 0))),
  ]
}
