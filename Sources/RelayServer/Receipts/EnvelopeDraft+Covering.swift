import Cryptography
import RelayCore

extension EnvelopeDraft {
  /// Notes what a receipt covers of it, if it has a number.
  ///
  /// - Parameter bodyDigest: The SHA-256 of its whole body.
  mutating func cover(bodyDigest: [UInt8]) {
    guard let item = CoveredItem(self, bodyDigest: bodyDigest) else { return }
    coveredDigest = SHA256.digest(of: item.bytes)
  }
}
