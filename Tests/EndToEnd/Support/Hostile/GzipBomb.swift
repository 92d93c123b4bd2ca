/// Gzip that unpacks to far more than it is.
enum GzipBomb {
  /// Packs so many zeros at about 150 to 1, by hand: each match stands for 258 of them.
  ///
  /// One block of fixed codes (RFC 1951 section 3.2.6): a literal 0, then length 258 at distance 1
  /// again and again; both codes are known, so the bits can be written without a compressor.
  static func bytes(ofZeros count: Int) -> [UInt8] {
    var bits = BitWriter()
    bits.write(0b1, count: 1)
    bits.write(0b01, count: 2)
    if count > 0 {
      // The literal 0 is 00110000, the length 258 is 11000101 (code 285), the distance 1 is 00000;
      // Huffman codes go with their first bit first.
      bits.writeCode(0b0011_0000, count: 8)
      for _ in 0..<(count - 1) / 258 {
        bits.writeCode(0b1100_0101, count: 8)
        bits.writeCode(0, count: 5)
      }
    }
    bits.writeCode(0, count: 7)
    // Nobody gets as far as the checksum of a bomb; that of nothing is 0.
    return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + bits.finish() + [UInt8](repeating: 0, count: 8)
  }

  private struct BitWriter {
    private var bytes: [UInt8] = []
    private var bit = 0

    mutating func write(_ value: Int, count: Int) {
      for index in 0..<count { append(value >> index & 1) }
    }

    mutating func writeCode(_ code: Int, count: Int) {
      for index in (0..<count).reversed() { append(code >> index & 1) }
    }

    private mutating func append(_ value: Int) {
      if bit == 0 { bytes.append(0) }
      bytes[bytes.count - 1] |= UInt8(value << bit)
      bit = (bit + 1) % 8
    }

    func finish() -> [UInt8] { bytes }
  }
}
