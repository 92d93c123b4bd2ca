import JSON
import RelayCore

/// Reads the `headers` of an envelope in JSON.
struct EnvelopeHeaderReader {
  private let limits: LimitsConfiguration
  private(set) var lines = HeaderLines()
  private(set) var hasContentType = false
  /// The names of the fields that were read.
  private(set) var names: [[UInt8]] = []

  init(limits: LimitsConfiguration) { self.limits = limits }

  /// Takes one member: a field, or several of one name.
  mutating func read(_ member: JSONMember) throws(Problem) {
    let text = member.name.string
    let (name, pointer) = try Self.name(of: member)
    guard !ConnectionField.isWrittenByRelay(name[...]) else {
      throw .invalidField(
        pointer, "The relay writes \(text.quoted) itself.", fix: "Leave the field out.")
    }
    guard !names.contains(where: { FieldSyntax.equalIgnoringCase($0[...], name[...]) }) else {
      throw .invalidField(
        pointer, "The field \(text.quoted) is given twice, in different letters' case.",
        fix: "Give a field once, with an array of its values.")
    }
    names.append(name)
    if FieldSyntax.equals(name[...], "Content-Type") { hasContentType = true }
    guard member.value.kind == .array, let values = try? member.value.array() else {
      return try append(name, member.value, pointer)
    }
    try append(name, values, pointer)
  }

  /// The name of the field that a member is about, and where it stands.
  static func name(
    of member: JSONMember
  ) throws(Problem) -> (name: [UInt8], pointer: String) {
    let text = member.name.string
    let name = Array(text.utf8)
    let pointer =
      name.count > NameSyntax.bytesMax ? "/headers" : "/headers/\(JSONPointer.escape(text))"
    guard !name.isEmpty, name.allSatisfy(FieldSyntax.isTokenByte),
      !AccessToken.isHeld(in: name[...])
    else {
      throw .invalidField(
        pointer, "\(text.quoted) is no name of a header field (RFC 9110 section 5.1).")
    }
    return (name, pointer)
  }

  private mutating func append(
    _ name: [UInt8], _ values: JSONArray, _ pointer: String
  ) throws(Problem) {
    var index = 0
    for value in values {
      try append(name, value, "\(pointer)/\(index)")
      index += 1
    }
    guard index > 0 else {
      throw .invalidField(pointer, "The field has an empty array of values.")
    }
  }

  private mutating func append(
    _ name: [UInt8], _ value: JSONValue, _ pointer: String
  ) throws(Problem) {
    // Values are not shown: they may be credentials.
    guard let bytes = try? value.utf8() else {
      throw .invalidField(
        pointer, "A header field's value has to be text, but here stands \(value.kind.inWords).")
    }
    guard bytes.allSatisfy(FieldSyntax.isValueByte) else {
      throw .invalidField(
        pointer, "The value has a control character, which a header field cannot have.")
    }
    let trimmed = FieldSyntax.trimmingWhitespace(bytes[...])
    guard !AccessToken.isHeld(in: trimmed) else {
      throw .invalidField(
        pointer, "The value holds a token of the relay's, which must not be sent on.",
        fix: "Leave the field out: the relay's token goes with the request alone.")
    }
    lines.append(name[...], trimmed)
    try Self.check(lines, limits)
  }

  /// Whether there are no more fields than there may be.
  static func check(_ lines: HeaderLines, _ limits: LimitsConfiguration) throws(Problem) {
    guard lines.isWithinCount(limits) else {
      throw .invalidField(
        "/headers", "An envelope may have \(limits.headerCountMax) header fields at the most.")
    }
    guard lines.isWithinBytes(limits) else {
      throw .invalidField(
        "/headers",
        "An envelope may have \(limits.headerBytesMax) bytes of header fields at the most.")
    }
  }
}
