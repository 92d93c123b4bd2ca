/// Writes JSON text into an array of bytes, members and elements in the order they are given.
///
/// Commas, escapes and (if asked for) line breaks are the writer's business; that objects and
/// arrays are closed, and that members stand in objects only, is the caller's, and closures see to
/// most of it:
/// ```swift
/// var json = JSONWriter()
/// json.object { json in
///   json.member("id", id)
///   json.member("lanes") { json in json.array { json in … } }
/// }
/// send(json.bytes)
/// ```
package struct JSONWriter: ~Copyable {
  /// The text written so far.
  package private(set) var bytes: [UInt8]
  private let pretty: Bool
  private var depth = 0
  /// Whether something stands before us in the same object or array.
  private var needsComma = false
  /// Whether a name has just been written, so that its value must follow on the same line.
  private var afterName = false

  /// A writer that appends to `bytes`; with `pretty`, each member on a line of its own, indented
  /// by two spaces.
  package init(appendingTo bytes: consuming [UInt8] = [], pretty: Bool = false) {
    self.bytes = bytes
    self.pretty = pretty
  }

  /// Gives up the text and the writer.
  package consuming func finish() -> [UInt8] { bytes }

  /// Writes an object; `content` writes its members.
  package mutating func object(
    _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    open(.openBrace)
    try content(&self)
    close(.closeBrace)
  }

  /// Writes an array; `content` writes its elements.
  package mutating func array(
    _ content: (inout JSONWriter) throws -> Void
  ) rethrows {
    open(.openBracket)
    try content(&self)
    close(.closeBracket)
  }

  /// Writes a member's name; exactly one value has to follow.
  package mutating func name(_ name: String) {
    beginValue()
    appendQuoted(name)
    bytes.append(.colon)
    if pretty { bytes.append(0x20) }
    afterName = true
  }

  /// Writes a string, escaped as far as RFC 8259 section 7 asks for.
  package mutating func string(_ value: String) {
    beginValue()
    appendQuoted(value)
  }

  /// Writes UTF-8 text as a string; bytes that are no UTF-8 become U+FFFD.
  package mutating func string(utf8 value: some Collection<UInt8>) {
    string(String(decoding: value, as: UTF8.self))
  }

  /// Writes a whole number.
  package mutating func integer(_ value: some BinaryInteger) {
    beginValue()
    appendASCII(String(value))
  }

  /// Writes a number; JSON has no infinity and no NaN, so those become `null`.
  package mutating func double(_ value: Double) {
    beginValue()
    appendASCII(value.isFinite ? value.description : "null")
  }

  /// Writes `true` or `false`.
  package mutating func bool(_ value: Bool) {
    beginValue()
    appendASCII(value ? "true" : "false")
  }

  /// Writes `null`.
  package mutating func null() {
    beginValue()
    appendASCII("null")
  }

  /// Writes a value that is JSON already, byte for byte.
  package mutating func raw(_ value: some Collection<UInt8>) {
    beginValue()
    bytes.append(contentsOf: value)
  }

  private mutating func open(_ opener: UInt8) {
    beginValue()
    bytes.append(opener)
    depth += 1
    needsComma = false
  }

  private mutating func close(_ closer: UInt8) {
    precondition(!afterName && depth > 0, "a name without a value, or a bracket too many")
    depth -= 1
    if pretty, needsComma { newLine() }
    bytes.append(closer)
    needsComma = true
  }

  private mutating func beginValue() {
    if afterName {
      afterName = false
    } else {
      if needsComma { bytes.append(.comma) }
      if pretty, depth > 0 { newLine() }
    }
    needsComma = true
  }

  private mutating func newLine() {
    bytes.append(0x0A)
    for _ in 0..<depth {
      bytes.append(0x20)
      bytes.append(0x20)
    }
  }

  private mutating func appendASCII(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func appendQuoted(_ text: String) {
    var text = text
    bytes.append(.quote)
    text.withUTF8 { text in
      let raw = UnsafeRawBufferPointer(text)
      // Most of what is written has nothing to be escaped, and goes in as it stands.
      if JSONScanner.endOfPlainRun(raw, from: 0, to: raw.count) == raw.count {
        bytes.append(contentsOf: text)
      } else {
        JSONWriter.appendEscaped(raw, to: &bytes)
      }
    }
    bytes.append(.quote)
  }

  /// Appends text that is UTF-8, escaping quotes, backslashes and control characters.
  private static func appendEscaped(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    var position = 0
    while position < text.count {
      let runEnd = JSONScanner.endOfPlainRun(text, from: position, to: text.count)
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[position..<runEnd]))
      position = runEnd
      guard position < text.count else { return }
      appendSpecial(text[position], to: &bytes)
      position += 1
    }
  }

  private static func appendSpecial(_ byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case .quote, .backslash: bytes += [.backslash, byte]
    case 0x0A: bytes += [.backslash, 0x6E]
    case 0x0D: bytes += [.backslash, 0x72]
    case 0x09: bytes += [.backslash, 0x74]
    case 0x80...: bytes.append(byte)
    default:
      let digits = Array("0123456789abcdef".utf8)
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 0xF)])
    }
  }
}
