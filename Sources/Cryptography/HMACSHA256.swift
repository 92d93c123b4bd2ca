import COpenSSL

/// HMAC with SHA-256 (RFC 2104, FIPS 198-1), over data that is at hand.
package enum HMACSHA256 {
  /// How many bytes a code has.
  package static let codeBytes = 32

  /// The code of a message under a key.
  package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: codeBytes) { code, count in
      var length: UInt32 = 0
      let result = key.withUnsafeBytes { key in
        message.withUnsafeBytes { message in
          HMAC(
            EVP_sha256(), key.baseAddress, Int32(key.count),
            message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count,
            code.baseAddress, &length)
        }
      }
      // With a digest that is always there it fails only when memory has run out.
      precondition(result != nil && length == UInt32(codeBytes), "HMAC failed")
      count = codeBytes
    }
  }
}
