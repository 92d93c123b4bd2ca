/// Bytes that have arrived and were not taken yet.
///
/// A window into one array. The array is lent by a pool while there is something in it, so that a
/// silent connection has none.
struct InputBuffer: Sendable {
  private(set) var bytes: [UInt8] = []
  /// The first byte that nobody has taken.
  var start = 0
  /// The end of what has arrived.
  private(set) var end = 0

  var count: Int { end - start }
  var isEmpty: Bool { start == end }
  var hasStorage: Bool { !bytes.isEmpty }

  /// Takes an array to read into; there is none so far.
  mutating func attach(_ storage: [UInt8]) {
    precondition(bytes.isEmpty, "the buffer has its array already")
    bytes = storage
    start = 0
    end = 0
  }

  /// Gives the array back; nothing is in it.
  mutating func detach() -> [UInt8] {
    precondition(isEmpty, "bytes would be lost")
    defer { bytes = [] }
    return bytes
  }

  /// Lends the free part to a read, and takes in as many bytes as it reports.
  ///
  /// Makes room first: by moving what is left to the front, or by growing where a head does not
  /// fit. The parsers' limits keep that growth small.
  mutating func fill<Failure: Error>(
    _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int?
  ) throws(Failure) -> Int? {
    makeRoom()
    let end = end
    var span = bytes.mutableSpan
    let count = try span.withUnsafeMutableBytes { (all) throws(Failure) -> Int? in
      try read(UnsafeMutableRawBufferPointer(rebasing: all[end...]))
    }
    self.end += count ?? 0
    return count
  }

  /// Takes bytes out as an array of their own.
  mutating func take(_ count: Int) -> [UInt8] {
    defer { start += count }
    return Array(bytes[start..<start + count])
  }

  private mutating func makeRoom() {
    if isEmpty {
      start = 0
      end = 0
    } else if end == bytes.count, start > 0 {
      bytes.withUnsafeMutableBytes { all in
        all.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[start..<end]))
      }
      end -= start
      start = 0
    } else if end == bytes.count {
      bytes.append(contentsOf: repeatElement(0, count: bytes.count))
    }
  }
}
