import Cryptography
import Testing

@Suite("Secrets")
struct SecretTests {
  /// Test cases 1, 2 and 6 of RFC 4231 section 4.
  static let known: [(key: [UInt8], message: String, code: String)] = [
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131),
      "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ]

  @Test("known messages have their known codes", arguments: known)
  func codes(key: [UInt8], message: String, code: String) {
    let found = HMACSHA256.code(of: Array(message.utf8), key: key)
    #expect(found.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == code)
  }

  @Test("bytes are the same only if all of them are")
  func comparison() {
    let bytes = (0..<32).map { UInt8($0) }
    #expect(ConstantTime.equals(bytes, bytes))
    #expect(ConstantTime.equals([], []))
    #expect(!ConstantTime.equals(bytes, Array(bytes.dropLast())))
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 0x80
      #expect(!ConstantTime.equals(bytes, other))
    }
  }

  @Test("random bytes are as many as were asked for, and others each time")
  func random() {
    for count in [0, 1, 7, 8, 32, 33] { #expect(SecureRandom.bytes(count).count == count) }
    #expect(Set((0..<1000).map { _ in SecureRandom.bytes(32) }).count == 1000)
  }
}
