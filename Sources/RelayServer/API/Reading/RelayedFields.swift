import HTTPServer
import RelayCore

/// The header fields of a relayed request: those for the relay, and those for the upstream.
struct RelayedFields {
  /// The terms for the relay.
  private(set) var terms = EnvelopeTerms()
  /// The fields that go on to the upstream unchanged.
  private(set) var lines: HeaderLines
  /// The names in the sender's `Connection` fields.
  private let connectionNames: [ArraySlice<UInt8>]
  /// The values of `Idempotency-Key`.
  private var idempotencyKeys: [ArraySlice<UInt8>] = []
  /// What it says of an upload.
  private let upload: UploadFields

  init(_ head: RequestHead) throws(Problem) {
    lines = HeaderLines(capacity: head.bytes.count)
    upload = try UploadFields(head)
    var names: [ArraySlice<UInt8>] = []
    for field in head.fields where head.isNamed(field, "Connection") {
      names += ConnectionField.names(in: head.value(of: field))
    }
    connectionNames = names
  }

  /// Takes one field.
  mutating func read(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) throws(Problem) {
    if FieldSyntax.hasPrefix(name, "Waystation-") { return try readOwn(name, value) }
    if ConnectionField.isOne(name) || Self.isWrittenAnew(name) || isNamedByConnection(name) {
      return
    }
    if upload.isAbout(name) { return }
    // The relay's own credentials are nobody else's business, whatever field they stand in.
    if AccessToken.isHeld(in: value) || AccessToken.isHeld(in: name) { return }
    if FieldSyntax.equals(name, "Prefer") {
      // Those are for the relay, and a repeat of the same envelope may want other ones.
      guard let others = PreferenceElement.removing("wait", from: value),
        let rest = PreferenceElement.removing("receipt", from: others)
      else { return }
      return lines.append(name, rest)
    }
    if FieldSyntax.equals(name, "Idempotency-Key") { idempotencyKeys.append(value) }
    lines.append(name, value)
  }

  /// Ends the reading, once all fields have been taken.
  ///
  /// A request may have more of them than its envelope: those for the relays on the way.
  ///
  /// `Idempotency-Key` is the key unless there is a field for the key alone. Another relay has one,
  /// since what its upstream is to know repeats by may be another text, or none that is a key.
  mutating func finish(_ limits: LimitsConfiguration) throws(Problem) {
    guard lines.isWithinCount(limits) else {
      throw .headerFieldsTooLarge("There are more than \(limits.headerCountMax) fields.")
    }
    guard lines.isWithinBytes(limits) else {
      throw .headerFieldsTooLarge("The fields exceed \(limits.headerBytesMax) bytes.")
    }
    guard terms.key == nil else { return }
    for value in idempotencyKeys {
      try EnvelopeField.idempotencyKey.readHeader(&terms, value)
    }
  }

  private mutating func readOwn(
    _ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>
  ) throws(Problem) {
    for field in EnvelopeField.relayed {
      if let header = field.header, FieldSyntax.equals(name, header) {
        return try field.readHeader(&terms, value)
      }
    }
    // Another relay may have added these on the way here; the last one has been read.
    let known: [StaticString] = [
      "Waystation-Attempt", "Waystation-Accepted-At", ReplayMark.fieldName,
      "Waystation-Authorization", "Waystation-Item-Digest", "Waystation-Link",
    ]
    guard !known.contains(where: { FieldSyntax.equals(name, $0) }) else { return }
    if FieldSyntax.hasPrefix(name, ConnectionField.carryingPrefix) {
      return try readCarried(name, value)
    }
    let text = String(decoding: name, as: UTF8.self)
    throw .unknownField(
      text, name: text, near: NearestWord.find(text, in: EnvelopeField.relayedNames))
  }

  /// Takes a field of the envelope that would mean something to the relay under its own name.
  private mutating func readCarried(
    _ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>
  ) throws(Problem) {
    let carried = name.dropFirst(ConnectionField.carryingPrefix.utf8CodeUnitCount)
    let text = String(decoding: name, as: UTF8.self)
    guard !carried.isEmpty else { throw .unknownField(text, name: text, near: nil) }
    guard !ConnectionField.isWrittenByRelay(carried) else {
      throw .invalidField(
        text, "The relay writes \(String(decoding: carried, as: UTF8.self).quoted) itself.",
        fix: "Leave the field out.")
    }
    if AccessToken.isHeld(in: value) || AccessToken.isHeld(in: carried) { return }
    lines.append(carried, value)
  }

  private func isNamedByConnection(_ name: ArraySlice<UInt8>) -> Bool {
    for listed in connectionNames where FieldSyntax.equalIgnoringCase(listed, name) { return true }
    return false
  }

  /// Whether the relay writes the field itself towards the upstream, or has answered it itself.
  private static func isWrittenAnew(_ name: ArraySlice<UInt8>) -> Bool {
    switch name.count {
    case 4: FieldSyntax.equals(name, "Host")
    case 6: FieldSyntax.equals(name, "Expect")
    case 14: FieldSyntax.equals(name, "Content-Length")
    default: false
    }
  }
}
