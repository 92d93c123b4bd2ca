import Cryptography
import Testing

@Suite("SHA-256")
struct SHA256Tests {
  /// Inputs and digests from FIPS 180-4's own examples.
  static let known = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ]

  @Test("known texts have their known digests", arguments: known)
  func knownDigests(text: String, digest: String) {
    #expect(hex(SHA256.digest(of: Array(text.utf8))) == digest)
    #expect(hex(SHA256.digest(of: text.utf8)) == digest)
  }

  @Test("pieces have the digest of the whole")
  func pieces() {
    let whole = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var hash = SHA256()
    for start in stride(from: 0, to: whole.count, by: 77) {
      hash.update(whole[start..<min(start + 77, whole.count)])
    }
    let digest = hash.finish()
    #expect(digest == SHA256.digest(of: whole))
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
