import Compression
import Testing

/// "hello" as `printf hello | gzip -n` writes it.
private let hello: [UInt8] = [
  0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0,
  0x86, 0xA6, 0x10, 0x36, 0x05, 0, 0, 0,
]

private func members(_ count: Int) -> [UInt8] { (0..<count).flatMap { _ in hello } }

/// Decodes `body` in pieces of `size` bytes.
private func decode(_ body: [UInt8], inPiecesOf size: Int) throws -> [UInt8] {
  var decoder = try GzipDecoder(decodedBytesMax: 100)
  var decoded: [UInt8] = []
  for start in stride(from: 0, to: body.count, by: size) {
    try decoder.decode(body[start..<min(start + size, body.count)], into: &decoded)
  }
  try decoder.finish()
  return decoded
}

@Suite("Decoding gzip")
struct GzipDecoderTests {
  @Test("a body is decoded")
  func whole() throws {
    #expect(try GzipDecoder.decode(hello, decodedBytesMax: 5) == Array("hello".utf8))
    #expect(try GzipDecoder.decode(hello[...], decodedBytesMax: 5) == Array("hello".utf8))
  }

  @Test("members follow one another", arguments: [2, 3, 20_000])
  func multipleMembers(count: Int) throws {
    let decoded = try GzipDecoder.decode(members(count), decodedBytesMax: 5 * count)
    #expect(decoded.count == 5 * count)
    #expect(decoded.suffix(5) == Array("hello".utf8)[...])
  }

  @Test("pieces of any size decode as the whole", arguments: [1, 2, 3, 7, 18, 19, 24, 25, 26])
  func pieces(size: Int) throws {
    #expect(try decode(members(3), inPiecesOf: size) == Array("hellohellohello".utf8))
  }

  @Test("a body cut short anywhere is refused", arguments: 0..<hello.count)
  func truncated(length: Int) {
    #expect(throws: GzipError.truncated) {
      try GzipDecoder.decode(hello[..<length], decodedBytesMax: 100)
    }
  }

  @Test("a second member cut short is refused", arguments: 2..<hello.count)
  func truncatedSecond(length: Int) {
    #expect(throws: GzipError.truncated) {
      try GzipDecoder.decode(hello + hello[..<length], decodedBytesMax: 100)
    }
  }

  @Test(
    "anything after the last member is refused",
    arguments: [[0x00], [0x1F], [0x1F, 0x8C, 8], [0x20, 0x8B]] as [[UInt8]])
  func garbage(tail: [UInt8]) {
    #expect(throws: GzipError.trailingGarbage) {
      try GzipDecoder.decode(hello + tail, decodedBytesMax: 100)
    }
    #expect(throws: GzipError.trailingGarbage) { try decode(hello + tail, inPiecesOf: 1) }
  }

  @Test("damaged data is refused", arguments: [0, 1, 2, 18, 22])
  func corrupt(index: Int) {
    var body = hello
    body[index] ^= 0xE7
    let error = #expect(throws: GzipError.self) {
      try GzipDecoder.decode(body, decodedBytesMax: 100)
    }
    if case .corrupt = error {} else { Issue.record("\(String(describing: error))") }
  }

  @Test("text that is no gzip is refused")
  func plainText() {
    #expect(throws: GzipError.corrupt("incorrect header check")) {
      try GzipDecoder.decode(Array(#"{"path": "/"}"#.utf8), decodedBytesMax: 100)
    }
  }

  @Test("a body past the limit is refused, and gives no more than the limit", arguments: 0..<5)
  func limit(limit: Int) throws {
    var decoder = try GzipDecoder(decodedBytesMax: limit)
    var decoded: [UInt8] = []
    var refusal: GzipError?
    do throws(GzipError) { try decoder.decode(hello, into: &decoded) } catch { refusal = error }
    #expect(refusal == .tooLarge(decodedBytesMax: limit))
    #expect(decoded == Array("hello".utf8.prefix(limit)))
  }

  @Test("a bomb stops at the limit")
  func bomb() throws {
    let bomb = ZeroBomb.gzip(copies: 100_000)
    #expect(bomb.count < 180_000)
    #expect(throws: GzipError.tooLarge(decodedBytesMax: 1_000_000)) {
      try GzipDecoder.decode(bomb, decodedBytesMax: 1_000_000)
    }
    // Output waits inside zlib where its chunk was full: all of it comes out, and then the check
    // sum is found wrong.
    let whole = #expect(throws: GzipError.self) {
      try GzipDecoder.decode(ZeroBomb.gzip(copies: 100_000), decodedBytesMax: 30_000_000)
    }
    #expect(whole == .truncated)
  }
}

/// A gzip member of zeros made by hand, so that the test needs no encoder.
private enum ZeroBomb {
  /// One literal zero, then `copies` times 258 more by copying at distance 1.
  ///
  /// The codes are the fixed ones of RFC 1951 section 3.2.6. The trailer is left out.
  static func gzip(copies: Int) -> [UInt8] {
    var bits: [Bool] = [true, true, false]  // final block, fixed codes (01, low bit first)
    append(0b0011_0000, count: 8, to: &bits)  // literal 0
    for _ in 0..<copies {
      append(0b1100_0101, count: 8, to: &bits)  // length 258, no extra bits
      append(0, count: 5, to: &bits)  // distance 1
    }
    append(0, count: 7, to: &bits)  // end of block
    var bytes: [UInt8] = [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03]
    for start in stride(from: 0, to: bits.count, by: 8) {
      var byte: UInt8 = 0
      for index in start..<min(start + 8, bits.count) where bits[index] {
        byte |= 1 << UInt8(index - start)
      }
      bytes.append(byte)
    }
    return bytes
  }

  private static func append(_ code: Int, count: Int, to bits: inout [Bool]) {
    for shift in stride(from: count - 1, through: 0, by: -1) { bits.append(code >> shift & 1 == 1) }
  }
}
