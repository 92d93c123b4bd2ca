import Glibc

extension [UInt8] {
  // Sound: `start` lies within the array, of which memchr(3) reads no more than the rest.
  /// The place of the next such byte; nil if there is none.
  ///
  /// By memchr(3), which looks at many bytes at a time.
  ///
  /// - Precondition: `start` is at most the number of bytes.
  func place(of byte: UInt8, from start: Int) -> Int? {
    precondition(start <= count)
    return withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress,
        let found = memchr(base + start, Int32(byte), bytes.count - start)
      else { return nil }
      return UnsafeRawPointer(found) - base
    }
  }

  /// Puts another byte in the place of each such byte.
  mutating func replace(_ byte: UInt8, by other: UInt8) {
    var start = 0
    while let place = place(of: byte, from: start) {
      self[place] = other
      start = place + 1
    }
  }
}
