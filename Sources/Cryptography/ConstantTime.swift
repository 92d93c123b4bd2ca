import COpenSSL

/// Whether both hold the same bytes, in a time that depends on their lengths alone.
///
/// For secrets: how long a comparison takes must not tell how much of a guess was right. Lengths
/// are no secret.
package func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  guard left.count == right.count else { return false }
  return left.withUnsafeBytes { left in
    right.withUnsafeBytes { right in
      left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
    }
  }
}
