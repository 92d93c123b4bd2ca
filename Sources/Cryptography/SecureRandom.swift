/// Random bytes that nobody can guess.
package enum SecureRandom {
  /// Returns random bytes of the system's generator for cryptographic use.
  ///
  /// On Linux Swift's `SystemRandomNumberGenerator` uses getrandom(2), which waits at boot until
  /// the kernel has enough entropy, and never returns less than requested.
  package static func bytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var word = generator.next()
      for _ in 0..<min(8, count - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    return bytes
  }
}
