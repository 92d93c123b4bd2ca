import Glibc

/// Random numbers from the system, fetched many at a time: an envelope takes one, and a system call
/// for each would be noticeable.
struct RandomPool {
  /// The number of numbers fetched at once: 256 bytes, the most that getentropy(3) returns.
  private static let batchCount = 32

  private var words: [UInt64] = []

  /// So many random bytes, a multiple of eight.
  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count / 8).flatMap { _ in withUnsafeBytes(of: next()) { Array($0) } }
  }

  /// The next 64 random bits; each is returned once.
  mutating func next() -> UInt64 {
    if let word = words.popLast() { return word }
    words = [UInt64](unsafeUninitializedCapacity: Self.batchCount) { buffer, count in
      let bytes = Self.batchCount * MemoryLayout<UInt64>.stride
      guard let start = buffer.baseAddress, getentropy(start, bytes) == 0 else {
        // On Linux it fails only if the kernel lacks it altogether (getentropy(3)).
        preconditionFailure("the system gives no random numbers")
      }
      count = Self.batchCount
    }
    return words.removeLast()
  }
}
