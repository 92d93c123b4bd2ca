/// Writes JSON text into an array of bytes, with members and elements in the order in which they
/// are given.
///
/// The writer adds commas, escapes and, if asked to, line breaks. The caller has to close objects
/// and arrays, and to put members into objects only; closures do most of that:
/// ```swift
/// var json = JSONWriter()
/// json.object { json in
///   json.member("id", id)
///   json.member("lanes") { json in json.array { json in … } }
/// }
/// send(json.finish())
/// ```
package struct JSONWriter: ~Copyable {
  /// The text written so far, and free space behind it.
  private var room: [UInt8]
  /// The end of the text.
  private var end: Int
  private let pretty: Bool
  private var depth = 0
  /// Whether a value stands before this one in the same object or array.
  private var needsComma = false
  /// Whether a name has just been written, so that its value must follow on the same line.
  private var afterName = false

  /// Makes a writer that appends to `bytes`; with `pretty`, each member is on a line of its own,
  /// indented by two spaces.
  package init(appendingTo bytes: consuming [UInt8] = [], pretty: Bool = false) {
    end = bytes.count
    room = bytes
    self.pretty = pretty
  }

  /// Makes a writer with memory for so many bytes.
  package init(reserving byteCount: Int) {
    end = 0
    room = [UInt8](repeating: 0, count: byteCount)
    pretty = false
  }

  /// Returns the text and ends the writer.
  package consuming func finish() -> [UInt8] {
    room.removeLast(room.count - end)
    return room
  }

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
    append(.colon)
    if pretty { append(0x20) }
    afterName = true
  }

  /// Writes a string, escaped where RFC 8259 section 7 requires it.
  package mutating func string(_ value: String) {
    beginValue()
    appendQuoted(value)
  }

  /// Writes UTF-8 text as a string; bytes that are not UTF-8 become U+FFFD.
  package mutating func string(utf8 value: some Collection<UInt8>) {
    string(String(decoding: value, as: UTF8.self))
  }

  /// Writes a whole number.
  package mutating func integer(_ value: some BinaryInteger) {
    beginValue()
    appendASCII(String(value))
  }

  /// Writes a whole number.
  package mutating func integer(_ value: Int) {
    beginValue()
    // The last digit comes first, so the digits are made behind the space for all of them.
    let digitsMax = 20
    write(upTo: digitsMax) { text in
      var start = digitsMax
      var rest = value.magnitude
      repeat {
        start -= 1
        text[start] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      if value < 0 {
        start -= 1
        text[start] = .minus
      }
      text.copyMemory(from: UnsafeRawBufferPointer(rebasing: text[start..<digitsMax]))
      return digitsMax - start
    }
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

  /// Writes a value that is already JSON, byte for byte.
  package mutating func raw(_ value: some Collection<UInt8>) {
    beginValue()
    append(value)
  }

  private mutating func open(_ opener: UInt8) {
    beginValue()
    append(opener)
    depth += 1
    needsComma = false
  }

  private mutating func close(_ closer: UInt8) {
    precondition(!afterName && depth > 0, "a name without a value, or a bracket too many")
    depth -= 1
    if pretty, needsComma { newLine() }
    append(closer)
    needsComma = true
  }

  private mutating func beginValue() {
    if afterName {
      afterName = false
    } else {
      if needsComma { append(.comma) }
      if pretty, depth > 0 { newLine() }
    }
    needsComma = true
  }

  private mutating func newLine() {
    append(0x0A)
    for _ in 0..<2 * depth { append(0x20) }
  }

  private mutating func appendASCII(_ text: String) { append(text.utf8) }

  private mutating func appendQuoted(_ text: String) {
    text.utf8Span.span.withUnsafeBytes { text in
      // Most texts need no escapes, and are written as they are.
      if JSONScanner.endOfPlainRun(text, from: 0, to: text.count) == text.count {
        appendQuoted(plain: text)
      } else {
        var escaped: [UInt8] = []
        JSONWriter.appendEscaped(text, to: &escaped)
        escaped.withUnsafeBytes { appendQuoted(plain: $0) }
      }
    }
  }

  private mutating func appendQuoted(plain text: UnsafeRawBufferPointer) {
    write(upTo: text.count + 2) { room in
      room[0] = .quote
      UnsafeMutableRawBufferPointer(rebasing: room[1...]).copyMemory(from: text)
      room[text.count + 1] = .quote
      return text.count + 2
    }
  }

  private mutating func append(_ byte: UInt8) {
    write(upTo: 1) { room in
      room[0] = byte
      return 1
    }
  }

  private mutating func append(_ bytes: some Collection<UInt8>) {
    let count = bytes.count
    write(upTo: count) { room in
      room.copyBytes(from: bytes)
      return count
    }
  }

  /// Lets `body` write bytes behind the text.
  ///
  /// - Parameters:
  ///   - countMax: The most bytes that it may write.
  ///   - body: Writes the bytes, and returns their number.
  @inline(__always)
  private mutating func write(
    upTo countMax: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int
  ) {
    if room.count - end < countMax { grow(by: countMax) }
    let start = end
    end += room.withUnsafeMutableBytes { room in
      body(UnsafeMutableRawBufferPointer(rebasing: room[start...]))
    }
  }

  private mutating func grow(by count: Int) {
    let firstBytes = 64
    room.append(contentsOf: repeatElement(0, count: max(count, room.count, firstBytes)))
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
