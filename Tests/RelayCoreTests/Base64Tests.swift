import RelayCore
import Testing

@Suite("Base64")
struct Base64Tests {
  /// RFC 4648 section 10, and all 64 characters.
  static let vectors = [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ]

  @Test("the RFC's examples go both ways", arguments: vectors)
  func examples(plain: String, text: String) throws {
    #expect(Base64.encode(plain.utf8) == Array(text.utf8))
    #expect(try Base64.decode(text.utf8) == Array(plain.utf8))
  }

  @Test("every byte survives at every position")
  func roundTrip() throws {
    for length in 0..<5 {
      for byte in UInt8.min...UInt8.max {
        let bytes = [UInt8](repeating: 0xA5, count: length) + [byte]
        #expect(try Base64.decode(Base64.encode(bytes)) == bytes)
      }
    }
  }

  static let refused: [(String, Base64.DecodingError.Kind, Int)] = [
    ("Z", .wrongLength, 1), ("Zg", .wrongLength, 2), ("Zg=", .wrongLength, 3),
    ("Zm9vYg", .wrongLength, 6), ("Zg==\n", .invalidByte, 2), ("Zm9v\nYmFy", .invalidByte, 4),
    ("Zm9-", .invalidByte, 3), ("=", .invalidByte, 0), ("====", .invalidByte, 0),
    ("Z===", .invalidByte, 1), ("Zg==Zg==", .invalidByte, 2), ("Zg=v", .invalidByte, 3),
    ("Zh==", .nonZeroPaddingBits, 1), ("Zm9=", .nonZeroPaddingBits, 2), (" Zg=", .invalidByte, 0),
  ]

  @Test("anything else is refused, with the place", arguments: refused)
  func refusals(text: String, kind: Base64.DecodingError.Kind, offset: Int) {
    let error = #expect(throws: Base64.DecodingError.self) { try Base64.decode(text.utf8) }
    #expect(error?.kind == kind)
    #expect(error?.offset == offset)
  }
}
