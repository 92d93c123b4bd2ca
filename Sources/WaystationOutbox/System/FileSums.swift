import RelayCore

/// Checksums of a file, one for each of its blocks.
///
/// So any stretch of it can be checked without the rest, as a part of an upload that goes on.
struct FileSums: Sendable, Equatable {
  /// The bytes of a block; the last one may have fewer.
  static let blockBytes: Int64 = 256 << 10

  /// The checksum of each block.
  let blocks: [Int64]

  /// Those that were stored.
  init(blocks: [Int64]) { self.blocks = blocks }

  /// Those of some bytes that are written as a file.
  init(of bytes: [UInt8]) {
    var sums = FileSummer()
    bytes.withUnsafeBytes { sums.append($0) }
    self = sums.finish()
  }

  /// Whether a block of the file has these bytes.
  func fits(_ bytes: ArraySlice<UInt8>, block: Int64) -> Bool {
    guard block < blocks.count else { return false }
    var sum = Checksum()
    // Sound: the bytes are read within the call.
    bytes.withUnsafeBytes { sum.append($0) }
    sum.endField()
    return sum.value == blocks[Int(block)]
  }

  /// Whether these bytes are the whole file.
  func fit(_ bytes: [UInt8]) -> Bool { self == FileSums(of: bytes) }
}

/// Makes the checksums of a file while it goes by.
struct FileSummer {
  private var blocks: [Int64] = []
  private var sum = Checksum()
  /// The bytes of the block that is not whole yet.
  private var pending: Int64 = 0

  /// Takes the next bytes.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Int(FileSums.blockBytes - pending))
      sum.append(UnsafeRawBufferPointer(rebasing: piece))
      rest = rest[piece.endIndex...]
      pending += Int64(piece.count)
      if pending == FileSums.blockBytes { endBlock() }
    }
  }

  /// The checksums of all that went by.
  mutating func finish() -> FileSums {
    if pending > 0 { endBlock() }
    return FileSums(blocks: blocks)
  }

  private mutating func endBlock() {
    sum.endField()
    blocks.append(sum.value)
    sum = Checksum()
    pending = 0
  }
}
