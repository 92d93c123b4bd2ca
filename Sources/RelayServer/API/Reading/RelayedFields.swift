import HTTPServer
import RelayCore

/// What the header fields of a relayed request say: to the relay, and to the upstream.
struct RelayedFields {
  private(set) var client: String?
  private(set) var lane: String?
  private(set) var sequence: Int64?
  private(set) var tag: String?
  private(set) var hold: Bool?
  private(set) var notBefore: WallTime?
  private(set) var expiresAt: WallTime?
  private(set) var onFailure: FailurePolicy?
  private(set) var coalesce: String?
  private(set) var references: Bool?
  private(set) var key: String?
  /// What goes on to the upstream, as it came.
  private(set) var lines: HeaderLines
  /// What the sender's `Connection` fields name.
  private let connectionNames: [ArraySlice<UInt8>]

  /// Every field that a sender may tell the relay something with, but the key's.
  static let names = [
    "Waystation-Client", "Waystation-Lane", "Waystation-Sequence", "Waystation-Tag",
    "Waystation-Hold", "Waystation-Not-Before", "Waystation-Expires-At", "Waystation-On-Failure",
    "Waystation-Coalesce", "Waystation-References",
  ]

  init(_ head: RequestHead) {
    lines = HeaderLines(capacity: head.bytes.count)
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
    // The relay's own credentials are nobody else's business, whatever field they stand in.
    if AccessToken.isHeld(in: value) || AccessToken.isHeld(in: name) { return }
    if FieldSyntax.equals(name, "Prefer") {
      guard let rest = PreferenceElement.removing("wait", from: value) else { return }
      return lines.append(name, rest)
    }
    if FieldSyntax.equals(name, "Idempotency-Key") {
      try Self.once(&key, "Idempotency-Key") { () throws(Problem) in
        try Self.name("Idempotency-Key", value)
      }
    }
    lines.append(name, value)
  }

  private mutating func readOwn(
    _ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>
  ) throws(Problem) {
    func isNamed(_ other: StaticString) -> Bool { FieldSyntax.equals(name, other) }
    if isNamed("Waystation-Client") {
      try Self.once(&client, "Waystation-Client") { () throws(Problem) in
        try Self.name("Waystation-Client", value)
      }
    } else if isNamed("Waystation-Lane") {
      try Self.once(&lane, "Waystation-Lane") { () throws(Problem) in
        try Self.name("Waystation-Lane", value)
      }
    } else if isNamed("Waystation-Tag") {
      try Self.once(&tag, "Waystation-Tag") { () throws(Problem) in
        try Self.name("Waystation-Tag", value)
      }
    } else if isNamed("Waystation-Sequence") {
      try Self.once(&sequence, "Waystation-Sequence") { () throws(Problem) in
        try Self.parsed("Waystation-Sequence", value, SequenceSyntax.rule, SequenceSyntax.parse)
      }
    } else if isNamed("Waystation-Hold") {
      try Self.once(&hold, "Waystation-Hold") { () throws(Problem) in
        try Self.parsed("Waystation-Hold", value, "true or false", Self.boolean)
      }
    } else if isNamed("Waystation-Not-Before") {
      try Self.once(&notBefore, "Waystation-Not-Before") { () throws(Problem) in
        try Self.parsed("Waystation-Not-Before", value, Self.timeRule) { RFC3339.parse($0) }
      }
    } else if isNamed("Waystation-Expires-At") {
      try Self.once(&expiresAt, "Waystation-Expires-At") { () throws(Problem) in
        try Self.parsed("Waystation-Expires-At", value, Self.timeRule) { RFC3339.parse($0) }
      }
    } else if isNamed("Waystation-On-Failure") {
      try Self.once(&onFailure, "Waystation-On-Failure") { () throws(Problem) in
        try Self.parsed("Waystation-On-Failure", value, FailurePolicy.choices) {
          FailurePolicy(rawValue: String(decoding: $0, as: UTF8.self))
        }
      }
    } else if isNamed("Waystation-Coalesce") {
      try Self.once(&coalesce, "Waystation-Coalesce") { () throws(Problem) in
        try Self.name("Waystation-Coalesce", value)
      }
    } else if isNamed("Waystation-References") {
      try Self.once(&references, "Waystation-References") { () throws(Problem) in
        try Self.parsed("Waystation-References", value, "true or false", Self.boolean)
      }
    } else if !isNamed("Waystation-Attempt"), !isNamed("Waystation-Accepted-At"),
      !isNamed("Waystation-Authorization")
    {
      // The first two another relay may have added on the way here; the last one has been read.
      let text = String(decoding: name, as: UTF8.self)
      throw .unknownField(text, name: text, near: NearestWord.find(text, in: Self.names))
    }
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

extension RelayedFields {
  private static let timeRule = "a time of RFC 3339, such as 2026-03-01T12:00:00Z"

  /// Sets what a field says, which may be said once.
  private static func once<Value>(
    _ target: inout Value?, _ field: String, _ read: () throws(Problem) -> Value
  ) throws(Problem) {
    guard target == nil else {
      throw .invalidField(field, "\(field) is given twice.", fix: "Give the field once.")
    }
    target = try read()
  }

  private static func name(
    _ field: String, _ value: ArraySlice<UInt8>
  ) throws(Problem) -> String {
    try parsed(field, value, NameSyntax.rule) {
      NameSyntax.isName($0) ? String(decoding: $0, as: UTF8.self) : nil
    }
  }

  private static func parsed<Value>(
    _ field: String, _ text: ArraySlice<UInt8>, _ rule: String,
    _ parse: (ArraySlice<UInt8>) -> Value?
  ) throws(Problem) -> Value {
    guard let value = parse(text) else {
      let shown = String(decoding: text, as: UTF8.self).quoted
      throw .invalidField(field, "\(field) is \(shown); it has to be \(rule).")
    }
    return value
  }

  private static func boolean(_ text: ArraySlice<UInt8>) -> Bool? {
    if text.elementsEqual("true".utf8) { return true }
    return text.elementsEqual("false".utf8) ? false : nil
  }
}
