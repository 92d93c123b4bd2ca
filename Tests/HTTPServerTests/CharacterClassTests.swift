import Testing

@testable import HTTPServer

@Suite("Character classes")
struct CharacterClassTests {
  private static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
  private static let alphanumeric = letters + "0123456789"

  @Test("tchar is what RFC 9110 section 5.6.2 lists, and nothing else")
  func tokens() {
    expect(Self.alphanumeric + "!#$%&'*+-.^_`|~", CharacterClass.isToken)
  }

  @Test("a reg-name is what RFC 3986 section 3.2.2 lists, and nothing else")
  func hosts() {
    expect(Self.alphanumeric + "-._~!$&'()*+,;=%", CharacterClass.isHost)
  }

  @Test("a target is visible ASCII without four delimiters")
  func targets() {
    let visible = String(decoding: Array(0x21...0x7E) as [UInt8], as: UTF8.self)
    expect(visible.filter { !"\"#<>".contains($0) }, CharacterClass.isTarget)
  }

  @Test("a field value has no control character but tab")
  func fields() {
    for byte in UInt8.min ... .max {
      let isControl = (byte < 0x20 && byte != 0x09) || byte == 0x7F
      #expect(CharacterClass.isField(byte) == !isControl, "byte \(byte)")
    }
  }

  private func expect(_ members: String, _ isMember: (UInt8) -> Bool) {
    let members = Set(members.utf8)
    for byte in UInt8.min ... .max {
      #expect(isMember(byte) == members.contains(byte), "byte \(byte)")
    }
  }
}
