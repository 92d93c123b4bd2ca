import Cryptography
import Foundation
import RelayCore
import Testing

@Suite("Keys of Ed25519")
struct Ed25519Tests {
  /// The private key of RFC 8037 appendix A.1.
  private static let secret = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
  /// The public key of RFC 8037 appendix A.2.
  private static let known = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
  /// The signed text of RFC 8037 appendix A.4.
  private static let signed =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcv"
    + "Mg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

  /// A private key out of its 32 bytes, by a file as RFC 8410 section 7 has it.
  private func key(_ secret: String) throws -> SigningKey {
    let prefix: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
    let der = Data(prefix + (try #require(Base64URL.decode(secret))))
    return try key(
      pem: "-----BEGIN PRIVATE KEY-----\n\(der.base64EncodedString())\n-----END PRIVATE KEY-----\n")
  }

  private func key(pem: String) throws -> SigningKey {
    let path = NSTemporaryDirectory() + "waystation-key-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try pem.write(toFile: path, atomically: true, encoding: .utf8)
    return try SigningKey(reading: path)
  }

  @Test("the key of RFC 8037 has the public key and the thumbprint of appendices A.2 and A.3")
  func thumbprint() throws {
    let key = try #require(key(Self.secret).ed25519)
    #expect(Base64URL.encode(key.bytes) == Self.known)
    #expect(key.thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
  }

  @Test("it signs the text of appendix A.4 as that does, and the public key verifies it")
  func vector() throws {
    let key = try key(Self.secret)
    let text = CompactJWS.text(
      header: Array(#"{"alg":"EdDSA"}"#.utf8), payload: Array("Example of Ed25519 signing".utf8),
      key: key)
    #expect(text == Self.signed)
    let read = try #require(CompactJWS(text))
    #expect(read.isSigned(by: try #require(key.ed25519)))
    #expect(String(decoding: read.payload, as: UTF8.self) == "Example of Ed25519 signing")
  }

  @Test("no signature is good with a bit changed in it, in the text, or by another key")
  func changed() throws {
    let key = SigningKey.makeEd25519()
    let publicKey = try #require(key.ed25519)
    let message = Array("a message".utf8)
    let signature = key.sign(message)
    #expect(publicKey.verifies(signature, of: message))
    for index in signature.indices {
      var other = signature
      other[index] ^= 0x10
      #expect(!publicKey.verifies(other, of: message))
    }
    #expect(!publicKey.verifies(signature, of: message + [0]))
    #expect(!publicKey.verifies(Array(signature.dropLast()), of: message))
    #expect(!publicKey.verifies([], of: message))
    let other = try #require(SigningKey.makeEd25519().ed25519)
    #expect(other != publicKey && !other.verifies(signature, of: message))
  }

  @Test("bytes that are no key verify nothing, and another number of them is no key")
  func noKey() throws {
    let none = try #require(Ed25519PublicKey([UInt8](repeating: 0xFF, count: 32)))
    #expect(!none.verifies([UInt8](repeating: 0, count: 64), of: []))
    #expect(Ed25519PublicKey([]) == nil)
    #expect(Ed25519PublicKey([UInt8](repeating: 0, count: 33)) == nil)
  }

  @Test("a new key that is written as PEM is the same when it is read")
  func written() throws {
    let made = SigningKey.makeEd25519()
    let pem = String(decoding: made.pem, as: UTF8.self)
    #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    let read = try key(pem: pem)
    #expect(read.ed25519 == made.ed25519 && read.algorithm == "EdDSA")
    #expect(read.sign([1, 2, 3]) == made.sign([1, 2, 3]))
    #expect(made != SigningKey.makeEd25519())
  }

  @Test("Base64 for URLs gives back the bytes that it was made of, without padding")
  func base64() {
    // RFC 4648 section 10, without padding; and the two characters that are its own.
    let known = [
      "": "", "f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE",
    ]
    for (bytes, text) in known { #expect(Base64URL.encode(Array(bytes.utf8)) == text) }
    #expect(Base64URL.encode([0xFB, 0xEF, 0xFF]) == "--__")
    for count in 0...70 {
      let bytes = SecureRandom.bytes(count)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test(
    "any other text is refused, so that nothing can be written in two ways",
    arguments: [
      "Zg==", "Zg=", "Z", "Zh", "Zm9", "Zm+v", "Zm/v", " Zg", "Zg ", "Z g", "Zm9v\n", "Zmé",
      "Zm9vY",
    ])
  func refused(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test(
    "a text that is not in the compact form is none",
    arguments: ["", "a", "YQ.YQ", "YQ.YQ.YQ.YQ", "YQ.Y.YQ", "YQ.YQ.YQ=", " YQ.YQ.YQ"])
  func form(text: String) {
    #expect(CompactJWS(text) == nil)
  }
}
