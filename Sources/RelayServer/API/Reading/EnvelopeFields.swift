import JSON
import RelayCore

/// The members of an envelope in JSON.
struct EnvelopeFields {
  /// The value of `body` or `bodyBase64`.
  enum Body {
    case none
    /// Text, as its UTF-8.
    case text([UInt8])
    /// Any other JSON, as it was written.
    case json([UInt8])
    /// Decoded Base64.
    case bytes([UInt8])
  }

  /// The terms beside the request itself.
  var terms = EnvelopeTerms()
  /// Whether only a sequence number is declared void.
  var isVoid = false
  private(set) var upstream: AcceptanceRules.Upstream?
  private(set) var method = "POST"
  /// The value of `path`; ``target(references:)`` checks it.
  var path: JSONValue?
  private var headers = HeaderLines()
  private var hasContentType = false
  private(set) var body = Body.none
  private let rules: AcceptanceRules

  init(rules: AcceptanceRules) { self.rules = rules }

  /// Takes one member.
  mutating func read(_ member: JSONMember) throws(Problem) {
    guard try EnvelopeField.read(member, into: &self) else {
      throw Self.unknown(member.name.string)
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

  mutating func readUpstream(_ value: JSONValue) throws(Problem) {
    guard let name = try? value.string() else {
      throw Self.wrong("upstream", value, "a configured upstream's name")
    }
    guard let upstream = rules.upstream(named: name) else {
      throw .unknownUpstream(name, field: "/upstream")
    }
    self.upstream = upstream
  }

  mutating func readMethod(_ value: JSONValue) throws(Problem) {
    guard let method = try? value.utf8(), MethodSyntax.isMethod(method.span) else {
      throw Self.wrong("method", value, MethodSyntax.rule)
    }
    self.method = String(decoding: method, as: UTF8.self)
  }

  mutating func readBody(_ value: JSONValue) throws(Problem) {
    guard case .none = body else { throw Self.twoBodies }
    if value.kind == .string, let text = try? value.utf8() {
      body = .text(text)
      try checkBodySize(text.count, "/body")
    } else {
      try checkBodySize(value.raw.count, "/body")
      body = .json(Array(value.raw))
    }
  }

  mutating func readBase64(_ value: JSONValue) throws(Problem) {
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

  mutating func readHeaders(_ value: JSONValue) throws(Problem) {
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
  static func unknown(_ name: String, among names: [String] = EnvelopeField.names) -> Problem {
    // A name that is longer than any is not given back in full.
    let isLong = name.utf8.count > NameSyntax.bytesMax
    return .unknownField(
      isLong ? "" : "/\(JSONPointer.escape(name))", name: name,
      near: isLong ? nil : NearestWord.find(name, in: names))
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

  /// The time that a field gives.
  static func time(_ field: String, _ value: JSONValue) throws(Problem) -> WallTime {
    guard let time = TermForm<WallTime>.time.json(value) else {
      throw wrong(field, value, TermForm<WallTime>.time.rule)
    }
    return time
  }

  /// The span of time that a field gives, in seconds.
  static func span(_ field: String, _ value: JSONValue) throws(Problem) -> Int64 {
    guard let seconds = TermForm<Int64>.span.json(value) else {
      throw wrong(field, value, TermForm<Int64>.span.rule)
    }
    return seconds
  }
}
