import JSON
import Testing

/// Strings are gone through many bytes at a time; these have something special at every place
/// that such a stretch has, and around its ends.
@Suite("Long strings")
struct LongStringTests {
  /// Around one and two stretches of sixty-four, and of eight, and the bytes left over.
  private static let lengths = Array(0...18) + Array(60...74) + Array(126...138)

  private func json(_ inside: [UInt8]) -> [UInt8] { [0x22] + inside + [0x22] }

  @Test("a string of any length comes back as it was")
  func plain() throws {
    for length in Self.lengths {
      let inside = [UInt8](repeating: 0x61, count: length)
      #expect(try JSONValue.parse(json(inside)).utf8() == inside)
      #expect(JSONStrings.quoted(utf8: inside) == json(inside))
    }
  }

  @Test("every byte of ASCII that is no control, quote or backslash stands for itself")
  func ordinary() throws {
    for byte in 0x20...0x7F as ClosedRange<UInt8> where byte != 0x22 && byte != 0x5C {
      for length in [1, 8, 64, 73] {
        let inside = [UInt8](repeating: byte, count: length)
        #expect(try JSONValue.parse(json(inside)).utf8() == inside)
      }
    }
  }

  @Test("an escape is found wherever it stands")
  func escapes() throws {
    for length in Self.lengths {
      for place in 0...length {
        var inside = [UInt8](repeating: 0x7F, count: length)
        inside.insert(contentsOf: Array(#"\n"#.utf8), at: place)
        var meant = [UInt8](repeating: 0x7F, count: length)
        meant.insert(0x0A, at: place)
        #expect(try JSONValue.parse(json(inside)).utf8() == meant)
        #expect(JSONStrings.quoted(utf8: meant) == json(inside))
      }
    }
  }

  @Test("the string ends at its quote wherever that stands, and a byte above ASCII does not end it")
  func quotes() throws {
    for length in Self.lengths {
      for place in 0...length {
        var inside = [UInt8](repeating: 0x20, count: length)
        inside.insert(contentsOf: Array("é".utf8), at: place)
        let member = Array(#"{"a":"#.utf8) + json(inside) + Array(#","b":1}"#.utf8)
        let value = try JSONValue.parse(member)
        #expect(try value["a"]?.utf8() == inside)
        #expect(try value["b"]?.int64() == 1)
      }
    }
  }

  @Test("a control character is refused wherever it stands", arguments: [0x00, 0x1F] as [UInt8])
  func controls(_ byte: UInt8) {
    for length in Self.lengths {
      for place in 0...length {
        var inside = [UInt8](repeating: 0x61, count: length)
        inside.insert(byte, at: place)
        let error = #expect(throws: JSONError.self) { try JSONValue.parse(json(inside)) }
        #expect(error?.kind == .controlCharacter)
        #expect(error?.offset == place + 1)
      }
    }
  }
}
