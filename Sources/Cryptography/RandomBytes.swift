import COpenSSL

/// `count` bytes that nobody can guess, from OpenSSL's generator (which the kernel seeds).
package func randomBytes(_ count: Int) -> [UInt8] {
  precondition(count >= 0 && count <= Int(Int32.max))
  guard count > 0 else { return [] }
  return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
    // Without randomness nothing secret can be made, and going on would be worse than ending.
    guard RAND_bytes(bytes.baseAddress, Int32(count)) == 1 else {
      preconditionFailure("RAND_bytes: the system gives no randomness")
    }
    initialized = count
  }
}
