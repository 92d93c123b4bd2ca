import JSON
import RelayCore

/// A patch of an envelope's `headers`, merged field by field (RFC 7396).
///
/// A value takes the place of all values of that name, and null takes the field away.
struct HeaderPatch {
  private let limits: LimitsConfiguration
  private var reader: EnvelopeHeaderReader
  private var removed: [[UInt8]] = []
  private var removesAll = false

  /// Whether the patch gives the body's type.
  var hasContentType: Bool { reader.hasContentType }

  /// Reads the member `headers`.
  init(_ value: JSONValue, _ limits: LimitsConfiguration) throws(Problem) {
    self.limits = limits
    reader = EnvelopeHeaderReader(limits: limits)
    guard !value.isNull else {
      removesAll = true
      return
    }
    guard let object = try? value.object() else {
      throw EnvelopeFields.wrong(
        "headers", value, "an object with a text, an array of texts or null for each field")
    }
    for member in object {
      if member.value.isNull {
        removed.append(try EnvelopeHeaderReader.name(of: member).name)
        // No envelope has more; each is looked for among them all.
        guard removed.count <= limits.headerCountMax else {
          throw .invalidField(
            "/headers", "A patch may remove \(limits.headerCountMax) header fields at the most.")
        }
      } else {
        try reader.read(member)
      }
    }
  }

  /// The fields that a block keeps, in their order, and then those that the patch gives.
  func applied(to block: RelayCore.HeaderBlock) throws(Problem) -> HeaderLines {
    var lines = HeaderLines(capacity: block.bytes.count)
    for field in block where !touches(field.name) { lines.append(field.name, field.value) }
    guard reader.lines.count > 0 else { return lines }
    lines.append(reader.lines)
    try EnvelopeHeaderReader.check(lines, limits)
    return lines
  }

  private func touches(_ name: ArraySlice<UInt8>) -> Bool {
    removesAll || removed.contains { FieldSyntax.equalIgnoringCase($0[...], name) }
      || reader.names.contains { FieldSyntax.equalIgnoringCase($0[...], name) }
  }
}
