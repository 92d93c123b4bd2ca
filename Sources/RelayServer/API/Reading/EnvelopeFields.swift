import JSON
import RelayCore

/// What an envelope in JSON says, member by member.
struct EnvelopeFields {
  /// What stands under `body` or `bodyBase64`.
  enum Body {
    case none
    /// Text, as its UTF-8.
    case text([UInt8])
    /// Any other JSON, as it was written.
    case json([UInt8])
    /// What base64 stood for.
    case bytes([UInt8])
  }

  private(set) var client: String?
  private(set) var key: String?
  private(set) var upstream: AcceptanceRules.Upstream?
  private(set) var method = "POST"
  /// What stands under `path`; ``target(references:)`` says whether it can be used.
  private var path: JSONValue?
  private(set) var lane = LaneSyntax.defaultName
  private(set) var sequence: Int64?
  private(set) var tag: String?
  private(set) var hold = false
  private(set) var notBefore: WallTime?
  private(set) var expiresAt: WallTime?
  private(set) var onFailure: FailurePolicy?
  private(set) var references = false
  private(set) var coalesce: String?
  private var headers = HeaderLines()
  private var hasContentType = false
  private(set) var body = Body.none
  private let rules: AcceptanceRules

  /// Every field that there is.
  static let names = [
    "key", "client", "upstream", "method", "path", "headers", "body", "bodyBase64", "lane",
    "sequence", "tag", "hold", "notBefore", "expiresAt", "onFailure", "coalesce",
    "references",
  ]

  init(rules: AcceptanceRules) { self.rules = rules }

  /// Takes one member.
  mutating func read(_ member: JSONMember) throws(Problem) {
    let value = member.value
    switch member.name {
    case "client": client = try Self.name("client", value)
    case "path": path = value
    case "body": try readBody(value)
    case "bodyBase64": try readBase64(value)
    case "headers": try readHeaders(value)
    case "key": key = try Self.key(value)
    case "upstream": upstream = try readUpstream(value)
    case "method": method = try Self.method(value)
    case "lane": lane = try Self.name("lane", value)
    case "sequence": sequence = try Self.sequence(value)
    case "tag": tag = try Self.name("tag", value)
    case "hold":
      hold = try Self.boolean("hold", value)
    case "coalesce": coalesce = try Self.name("coalesce", value)
    case "references": references = try Self.boolean("references", value)
    case "notBefore": notBefore = try Self.time("notBefore", value)
    case "expiresAt": expiresAt = try Self.time("expiresAt", value)
    case "onFailure": onFailure = try Self.policy(value)
    default: throw Self.unknown(member.name.string)
    }
  }

  /// The header fields, with the default `Content-Type` where the sender gave none, and the body.
  func content() throws(Problem) -> (RelayCore.HeaderBlock, [UInt8]) {
    let isBare = headers.count == 0 && !hasContentType
    var lines = headers
    let bytes: [UInt8]
    switch body {
    case .none: bytes = []
    case .text(let text):
      if isBare { return (DefaultContentType.textBlock, text) }
      bytes = text
      if !hasContentType { lines.prepend(DefaultContentType.text) }
    case .json(let text):
      if isBare { return (DefaultContentType.jsonBlock, text) }
      bytes = text
      if !hasContentType { lines.prepend(DefaultContentType.json) }
    case .bytes(let decoded): bytes = decoded
    }
    // Every part has been checked, so there is always a block.
    guard let block = lines.block else { throw .internalError() }
    return (block, bytes)
  }

  private func readUpstream(
    _ value: JSONValue
  ) throws(Problem) -> AcceptanceRules.Upstream {
    guard let name = try? value.string() else {
      throw Self.wrong("upstream", value, "a configured upstream's name")
    }
    guard let upstream = rules.upstream(named: name) else {
      throw .unknownUpstream(name, field: "/upstream")
    }
    return upstream
  }

  private mutating func readBody(_ value: JSONValue) throws(Problem) {
    guard case .none = body else { throw Self.twoBodies }
    if value.kind == .string, let text = try? value.utf8() {
      body = .text(text)
      try checkBodySize(text.count, "/body")
    } else {
      try checkBodySize(value.raw.count, "/body")
      body = .json(Array(value.raw))
    }
  }

  private mutating func readBase64(_ value: JSONValue) throws(Problem) {
    guard case .none = body else { throw Self.twoBodies }
    guard let text = try? value.utf8() else {
      throw Self.wrong("bodyBase64", value, "text in base64")
    }
    try checkBodySize(text.count / 4 * 3 - 2, "/bodyBase64")
    let bytes: [UInt8]
    do throws(Base64.DecodingError) {
      bytes = try Base64.decode(text)
    } catch {
      throw .invalidField(
        "/bodyBase64", "bodyBase64 is no base64: \(error).",
        fix: "Encode the body as RFC 4648 section 4 has it, with padding.")
    }
    try checkBodySize(bytes.count, "/bodyBase64")
    body = .bytes(bytes)
  }

  private func checkBodySize(_ byteCount: Int, _ field: String) throws(Problem) {
    guard byteCount <= rules.limits.bodyBytesMax else {
      throw .bodyTooLarge(bytesMax: rules.limits.bodyBytesMax, field: field)
    }
  }

  private mutating func readHeaders(_ value: JSONValue) throws(Problem) {
    guard let object = try? value.object() else {
      throw Self.wrong(
        "headers", value, "an object with a text or an array of texts for each field")
    }
    var reader = EnvelopeHeaderReader(limits: rules.limits)
    for member in object { try reader.read(member) }
    headers = reader.lines
    hasContentType = reader.hasContentType
  }
}

extension EnvelopeFields {
  /// The problem of a field with a value that it cannot have.
  static func wrong(
    _ name: String, _ value: JSONValue, _ expected: String
  ) -> Problem {
    .invalidField("/\(name)", "\(name) is \(value.shown); it has to be \(expected).")
  }

  private static let twoBodies = Problem.invalidField(
    "/bodyBase64", "body and bodyBase64 both stand there.", fix: "Leave one of them out.")

  /// The problem of a field that is none of those there are.
  static func unknown(_ name: String, among names: [String] = names) -> Problem {
    // A name that is longer than any is not given back in full.
    let isLong = name.utf8.count > NameSyntax.bytesMax
    return .unknownField(
      isLong ? "" : "/\(JSONPointer.escape(name))", name: name,
      near: isLong ? nil : NearestWord.find(name, in: names))
  }

  /// The key, which goes to the upstream in a field, where no token of the relay's may stand.
  private static func key(_ value: JSONValue) throws(Problem) -> String {
    let key = try name("key", value)
    guard !AccessToken.isHeld(in: Array(key.utf8)[...]) else {
      throw .invalidField(
        "/key", "The key holds a token of the relay's, which must not be sent on.",
        fix: "Choose another key.")
    }
    return key
  }

  private static func name(_ field: String, _ value: JSONValue) throws(Problem) -> String {
    guard let name = try? value.string(),
      (1...NameSyntax.bytesMax).contains(name.utf8.count),
      name.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw wrong(field, value, NameSyntax.rule) }
    return name
  }

  /// The path; nil if there is none.
  ///
  /// - Parameter references: Whether references may stand in it, with which it is checked later.
  func target(references: Bool) throws(Problem) -> [UInt8]? {
    guard let value = path else { return nil }
    guard let path = try? value.utf8() else {
      throw Self.wrong("path", value, "a path that begins with a slash")
    }
    if !references, let refusal = TargetSyntax.refusal(of: path[...]) {
      throw .invalidField("/path", "path is \(value.shown); it \(refusal).")
    }
    return path
  }

  private static func boolean(_ field: String, _ value: JSONValue) throws(Problem) -> Bool {
    guard value.kind == .boolean else { throw wrong(field, value, "true or false") }
    return value.raw.first == UInt8(ascii: "t")
  }

  private static func method(_ value: JSONValue) throws(Problem) -> String {
    guard let method = try? value.utf8(), MethodSyntax.isMethod(method[...]) else {
      throw wrong("method", value, MethodSyntax.rule)
    }
    return String(decoding: method, as: UTF8.self)
  }

  private static func sequence(_ value: JSONValue) throws(Problem) -> Int64 {
    // To JSON Schema, 1.0 is a whole number, and some senders write all numbers so.
    guard let number = value.wholeNumber, SequenceSyntax.range.contains(number) else {
      throw wrong("sequence", value, SequenceSyntax.rule)
    }
    return number
  }

  /// The time that a field gives.
  static func time(_ field: String, _ value: JSONValue) throws(Problem) -> WallTime {
    guard let text = try? value.utf8(), let time = RFC3339.parse(text) else {
      throw wrong(field, value, "a time of RFC 3339, such as 2026-03-01T12:00:00Z")
    }
    return time
  }

  private static func policy(_ value: JSONValue) throws(Problem) -> FailurePolicy {
    guard let word = try? value.string(), let policy = FailurePolicy(rawValue: word) else {
      throw wrong("onFailure", value, FailurePolicy.choices)
    }
    return policy
  }
}
