import Cryptography
import Testing

@Suite("HMAC-SHA-256")
struct HMACTests {
  @Test("the test cases of RFC 4231")
  func vectors() {
    let cases: [(key: [UInt8], data: [UInt8], code: String)] = [
      (
        [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
      ),
      (
        Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
      ),
      (
        [UInt8](repeating: 0xAA, count: 131),
        Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
      ),
    ]
    for (key, data, code) in cases {
      #expect(hex(HMACSHA256.code(of: data, key: HMACKey(key))) == code)
    }
  }

  @Test("a key serves many messages, each in as many pieces as it comes in")
  func pieces() {
    let key = HMACKey(Array("Jefe".utf8))
    let whole = HMACSHA256.code(of: Array("what do ya want for nothing?".utf8), key: key)
    var code = HMACSHA256(key: key)
    for piece in ["what do ", "", "ya want", " for nothing?"] { code.update(Array(piece.utf8)) }
    #expect(code.finish() == whole)
    #expect(HMACSHA256.code(of: [], key: key) == HMACSHA256.code(of: [], key: key))
    #expect(HMACSHA256.code(of: [], key: HMACKey([])).count == HMACSHA256.codeBytes)
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
