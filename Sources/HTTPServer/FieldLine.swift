/// One line of a head or a trailer section (RFC 9112 section 5).
enum FieldLine {
  /// Parses a field line without its CRLF.
  ///
  /// - Parameter origin: The index from which the field's offsets count.
  static func parse(
    _ buffer: [UInt8], _ range: Range<Int>, origin: Int
  ) throws(ProtocolProblem) -> RequestHead.Field {
    var index = range.lowerBound
    let end = range.upperBound
    while index < end, CharacterClass.isToken(buffer[index]) { index += 1 }
    guard index < end, index > range.lowerBound, buffer[index] == 0x3A else {
      throw refusal(buffer, range, stoppedAt: index)
    }
    let nameEnd = index
    index += 1
    while index < end, buffer[index] == 0x20 || buffer[index] == 0x09 { index += 1 }
    let valueStart = index
    while index < end {
      guard CharacterClass.isField(buffer[index]) else {
        throw .malformed("A field value holds a control character.")
      }
      index += 1
    }
    let value = ASCII.trimmed(buffer, valueStart..<end)
    return RequestHead.Field(
      nameStart: UInt32(range.lowerBound - origin), nameEnd: UInt32(nameEnd - origin),
      valueStart: UInt32(value.lowerBound - origin), valueEnd: UInt32(value.upperBound - origin))
  }

  /// The problem of a line that does not begin with a name and a colon.
  private static func refusal(
    _ buffer: [UInt8], _ range: Range<Int>, stoppedAt index: Int
  ) -> ProtocolProblem {
    let isSpace = index < range.upperBound && (buffer[index] == 0x20 || buffer[index] == 0x09)
    if isSpace, index == range.lowerBound {
      // A recipient that joins the lines could see other fields than one that does not.
      return .malformed("A field line begins with white space (obsolete line folding).")
    }
    if isSpace { return .malformed("White space stands between a field name and its colon.") }
    return .malformed("A field line does not begin with a name and a colon.")
  }
}
