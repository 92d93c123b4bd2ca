/// Base64 for URLs, without padding (RFC 4648 section 5), as JOSE has it (RFC 7515 section 2).
package enum Base64URL {
  /// The text of some bytes.
  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    let text = Base64.encode(bytes).compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of a text; nil for a text that ``encode(_:)`` never gives.
  ///
  /// So each sequence of bytes has exactly one text, and nobody can write a signature in two ways.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var standard: [UInt8] = []
    standard.reserveCapacity(text.utf8.count + 3)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
      default: standard.append(byte)
      }
    }
    while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
    return try? Base64.decode(standard)
  }
}
