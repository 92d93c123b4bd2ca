/// Bytes that have arrived and were not taken yet.
///
/// A window into one array. A pool lends the array while there is something in it, so that a silent
/// connection has none.
struct InputBuffer: Sendable {
  private(set) var bytes: [UInt8] = []
  /// The first byte that nobody has taken.
  var start = 0
  /// The end of the bytes that have arrived.
  private(set) var end = 0

  var count: Int { end - start }
  var isEmpty: Bool { start == end }
  /// Whether the array has to grow before anything more can be read.
  var isFull: Bool { start == 0 && end == bytes.count }
  /// Whether there is an array to read into; else `bytes` is only what was kept.
  private(set) var hasStorage = false

  /// Takes an array to read into; it must have room for the bytes that were kept.
  mutating func attach(_ storage: consuming [UInt8]) {
    precondition(!hasStorage, "the buffer has its array already")
    precondition(storage.count > count, "what was kept has to fit in")
    if !isEmpty { storage.replaceSubrange(0..<count, with: bytes[start..<end]) }
    bytes = storage
    end = count
    start = 0
    hasStorage = true
  }

  /// Gives the array back while nothing comes, and keeps only its content: a peer that sends a byte
  /// and pauses must not hold a whole array.
  ///
  /// - Parameter bytesMax: The most bytes to keep; a longer content stays in the array.
  /// - Returns: The array; nil if there is none to give back.
  mutating func detach(keeping bytesMax: Int) -> [UInt8]? {
    guard hasStorage, count <= bytesMax else { return nil }
    let storage = bytes
    bytes = Array(bytes[start..<end])
    start = 0
    end = bytes.count
    hasStorage = false
    return storage
  }

  /// Lends the free part to a read, and adds as many bytes as it reports.
  ///
  /// It makes room first: by moving the content to the front, or by growing if a head does not fit.
  /// The parsers' limits keep that growth small.
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
  mutating func take(_ count: Int) -> [UInt8] { Array(bytes[skip(count)]) }

  /// Passes over bytes, and returns their range, which is valid until the next read.
  mutating func skip(_ count: Int) -> Range<Int> {
    defer { start += count }
    return start..<start + count
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
