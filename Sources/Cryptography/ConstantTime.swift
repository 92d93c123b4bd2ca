import COpenSSL

/// Comparisons whose duration reveals nothing of the compared texts.
package enum ConstantTime {
  /// Whether two texts are the same, byte for byte.
  ///
  /// The duration does not depend on where they differ (CRYPTO_memcmp(3)). Lengths are no secret:
  /// texts of different lengths are told apart at once.
  package static func equals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
      }
    }
  }
}
