/// Bytes that nobody can guess.
package enum SecureRandom {
  /// So many bytes of the system's generator for cryptographic use.
  ///
  /// Swift's `SystemRandomNumberGenerator` asks getrandom(2) on Linux, which waits until the kernel
  /// has gathered enough at boot and never gives less than was asked for.
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
