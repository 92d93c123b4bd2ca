extension Unicode.Scalar {
  /// Whether a character could do more than be displayed.
  ///
  /// A control character could move a terminal's cursor or write into its input. A direction mark
  /// could make a text, and what stands around it, look like another one (Unicode Technical Report
  /// 36, section 2.5).
  package var isHostile: Bool {
    switch value {
    case 0..<0x20, 0x7F...0x9F: true
    case 0x61C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: true
    case 0xFFF9...0xFFFB, 0xE0000...0xE0FFF: true
    default: false
    }
  }
}
