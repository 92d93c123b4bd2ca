import RelayCore

/// Makes texts of strangers safe for a terminal.
///
/// Names, paths and reasons come from devices and upstreams. A control character among them could
/// move the cursor, change what is on the screen, or write into the terminal's input; direction
/// marks could make one name look like another.
enum SafeText {
  /// The text in one line, with hostile characters escaped, as in `\u{1b}`.
  static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.isHostile) else { return text }
    return text.unicodeScalars.reduce(into: "") { safe, scalar in
      if scalar.isHostile {
        safe += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        safe.unicodeScalars.append(scalar)
      }
    }
  }

  /// The same JSON in one line, with hostile characters escaped.
  ///
  /// Strict JSON has such characters only within strings, except for white space between tokens.
  static func json(_ bytes: some Sequence<UInt8>) -> String {
    let text = String(decoding: Array(bytes), as: UTF8.self)
    guard text.unicodeScalars.contains(where: \.isHostile) else { return text }
    return text.unicodeScalars.reduce(into: "") { safe, scalar in
      guard scalar.isHostile else { return safe.unicodeScalars.append(scalar) }
      guard scalar.value >= 0x20 else { return safe += " " }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        safe += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
  }

  /// The number of columns that a text takes on a terminal, roughly as wcwidth(3) has it.
  static func width(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { width, scalar in
      switch scalar.value {
      case 0x300...0x36F, 0xFE00...0xFE0F: width
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
        width + 2
      default: width + 1
      }
    }
  }
}
