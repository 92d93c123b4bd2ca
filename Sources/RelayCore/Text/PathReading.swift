/// A path as servers may read it, to check whether any of them would find a way out of a base path.
///
/// Servers differ in what they decode before they look for `.` and `..`: percent-encoding, once or
/// more often; backslashes; parameters after a semicolon; overlong UTF-8; characters that a Unicode
/// normalisation, or Windows's code pages, turn into a dot or a slash; blanks and control
/// characters at a name's end. So all of it is decoded here, and each stage is checked.
enum PathReading {
  /// The number of times that a path may be percent-encoded: nobody means more, and each round
  /// costs a pass.
  private static let encodingsMax = 4

  /// The fault of a path of visible ASCII that begins with a slash, as the rest of a sentence about
  /// it; nil if it has none.
  static func refusal(of path: ArraySlice<UInt8>) -> String? {
    for index in path.indices where path[index] == UInt8(ascii: "%") {
      // Servers differ most of all in how they read a broken escape.
      guard PercentEncoding.escapedByte(of: path, at: index) != nil else {
        return "has a % that is not followed by two hexadecimal digits; write % itself as %25"
      }
    }
    var reading = path
    for _ in 0...encodingsMax {
      if let refusal = refusal(ofReading: reading) { return refusal }
      guard let next = decodedOnce(reading) else { return nil }
      reading = next
    }
    return "is percent-encoded more than \(encodingsMax) times over"
  }

  /// The path with every escape decoded once; nil if it has none.
  private static func decodedOnce(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var decoded: ArraySlice<UInt8> = []
    var index = path.startIndex
    while index < path.endIndex {
      let (byte, next) = PercentEncoding.decodedByte(of: path, at: index)
      decoded.append(byte)
      index = next
    }
    return decoded.count == path.count ? nil : decoded
  }

  private static func refusal(ofReading path: ArraySlice<UInt8>) -> String? {
    var segment = Segment()
    var isAtStart = true
    var (character, index) = character(of: path, at: path.startIndex)
    while index < path.endIndex {
      (character, index) = self.character(of: path, at: index)
      guard character == .slash else {
        segment.add(character)
        if character != .ignored { isAtStart = false }
        continue
      }
      if isAtStart { return "may not begin with two slashes, however they are written" }
      if segment.isDots { break }
      segment = Segment()
    }
    return segment.isDots
      ? "may have no \".\" or \"..\" segment, however it is written" : nil
  }

  /// The meaning of a character in a path.
  private enum Character {
    case dot, twoDots, slash, ignored, endOfName, other
  }

  /// The character at an index, and the index of the next.
  ///
  /// Decoded as loosely as the loosest decoder does: by the bits alone.
  private static func character(
    of path: ArraySlice<UInt8>, at index: Int
  ) -> (Character, next: Int) {
    let lead = path[index]
    let byteCount = (~lead).leadingZeroBitCount
    guard (2...6).contains(byteCount), index + byteCount <= path.endIndex else {
      return (lead < 0x80 ? meaning(of: UInt32(lead)) : .other, index + 1)
    }
    var code = UInt32(lead & (0x7F >> UInt8(byteCount)))
    for byte in path[(index + 1)..<(index + byteCount)] { code = code << 6 | UInt32(byte & 0x3F) }
    let meaning = meaning(of: code)
    // Whatever it is, the bytes after its first may have a meaning of their own.
    return meaning == .other ? (.other, index + 1) : (meaning, index + byteCount)
  }

  private static func meaning(of code: UInt32) -> Character {
    switch code {
    // One dot leader, small full stop, fullwidth full stop: NFKC makes dots of them.
    case 0x2E, 0x2024, 0xFE52, 0xFF0E: .dot
    case 0x2025: .twoDots
    // Slash and backslash; yen and won, which are Windows's backslashes in Japan and Korea;
    // fraction slash, division slash, set minus; small and fullwidth forms.
    case 0x2F, 0x5C, 0xA5, 0x20A9, 0x2044, 0x2215, 0x2216, 0xFE68, 0xFF0F, 0xFF3C: .slash
    // The end of a C string, and the beginnings of parameters, a query or a fragment.
    case 0x00, 0x3B, 0x3F, 0x23: .endOfName
    case 0x01...0x20, 0x7F: .ignored
    default: .other
    }
  }

  /// The characters of one segment, as far as it was read.
  private struct Segment {
    private var dots = 0
    private var hasOthers = false
    private var hasEnded = false

    var isDots: Bool { !hasOthers && (dots == 1 || dots == 2) }

    mutating func add(_ character: Character) {
      if hasEnded { return }
      switch character {
      case .dot: dots += 1
      case .twoDots: dots += 2
      case .endOfName: hasEnded = true
      case .ignored, .slash: break
      case .other: hasOthers = true
      }
    }
  }
}
