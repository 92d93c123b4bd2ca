#if PostgreSQL
import RelayCore

/// The bytes of a body on their way into pieces: all are full but the last one.
struct BodyPieces {
  /// The number of full pieces that are written.
  private(set) var fullCount: Int32 = 0
  /// Bytes that do not fill a piece yet.
  private(set) var rest: [UInt8] = []

  /// The number of bytes that have come; what follows a piece that could not be written has not.
  var byteCount: Int64 {
    Int64(fullCount) * Int64(StoredBodyFile.chunkBytes) + Int64(rest.count)
  }

  /// Writes a piece under its number.
  typealias Write = (_ number: Int32, _ bytes: [UInt8]) throws(StoreError) -> Void

  /// The pieces of a body without a byte.
  init() {}

  /// Goes on behind so many bytes.
  ///
  /// - Parameter read: Reads the bytes of the last piece, which is not full.
  init(
    behind byteCount: Int64,
    _ read: (_ start: Int64, _ count: Int) throws(StoreError) -> [UInt8]
  ) throws(StoreError) {
    let size = Int64(StoredBodyFile.chunkBytes)
    fullCount = Int32(truncatingIfNeeded: byteCount / size)
    let start = Int64(fullCount) * size
    if byteCount > start { rest = try read(start, Int(byteCount - start)) }
  }

  /// Takes more bytes, and writes each piece that is full.
  mutating func append(_ bytes: [UInt8], _ write: Write) throws(StoreError) {
    var next = bytes[...]
    while rest.count + next.count >= StoredBodyFile.chunkBytes {
      let count = StoredBodyFile.chunkBytes - rest.count
      rest += next.prefix(count)
      next = next.dropFirst(count)
      try write(fullCount, rest)
      fullCount += 1
      rest.removeAll(keepingCapacity: true)
    }
    rest += next
  }

  /// Writes the last piece, if it has bytes; more can come.
  func writeRest(_ write: Write) throws(StoreError) {
    if !rest.isEmpty { try write(fullCount, rest) }
  }
}
#endif
