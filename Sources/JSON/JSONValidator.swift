/// One pass over a text that decides whether it is JSON by RFC 8259.
///
/// Nothing is built: memory is one small frame for each open container, and one entry for each name
/// in an open object, to find duplicates. Nesting does not use the machine's stack.
///
/// The buffer is borrowed from an array during one `withUnsafeBytes` call, in which the validator
/// is made, used and dropped; every access is checked against `end`.
struct JSONValidator {
  /// An array or object that has been opened and not closed yet.
  struct Frame {
    let isObject: Bool
    /// The index in `names` of this object's first name.
    let firstName: Int
  }

  /// A name of an open object: its bytes between the quotes.
  struct Name {
    let start: UInt32
    let end: UInt32
    let escaped: Bool
  }

  /// The number of names that room is made for at first: more than most objects have.
  private static let namesFirst = 8

  let bytes: UnsafeRawBufferPointer
  let start: Int
  let end: Int
  private let depthMax: Int
  var position: Int
  var frames: [Frame] = []
  var names: [Name] = []

  init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>, depthMax: Int) {
    self.bytes = bytes
    self.depthMax = depthMax
    start = range.lowerBound
    end = range.upperBound
    position = range.lowerBound
  }

  /// Passes over exactly one value with white space around it, and returns its range.
  mutating func validateDocument() throws(JSONError) -> Range<Int> {
    if end - start >= 3, bytes[start] == 0xEF, bytes[start + 1] == 0xBB, bytes[start + 2] == 0xBF {
      throw error(.byteOrderMark, "JSON text must not begin with a byte order mark")
    }
    skipWhiteSpace()
    let valueStart = position
    repeat {
      // A container with content leads to its first value; everything else is complete.
      if try beginValue() { continue }
      try finishValue()
    } while !frames.isEmpty
    let valueEnd = position
    skipWhiteSpace()
    guard position == end else {
      throw error(.trailingContent, "expected the end of the text but found \(found)")
    }
    return valueStart..<valueEnd
  }

  /// Passes over a scalar or an empty container and returns false, or opens one that holds a value
  /// and returns true.
  private mutating func beginValue() throws(JSONError) -> Bool {
    guard position < end else { throw unexpected("a value") }
    switch bytes[position] {
    case .quote: _ = try string()
    case .openBrace: return try openObject()
    case .openBracket: return try openArray()
    case .minus, 0x30...0x39: try number()
    case 0x74: try literal("true")
    case 0x66: try literal("false")
    case 0x6E: try literal("null")
    default: throw unexpected("a value")
    }
    return false
  }

  /// Acts on the end of a value: closes finished containers, and passes on to the next value if
  /// there is one.
  private mutating func finishValue() throws(JSONError) {
    while let frame = frames.last {
      skipWhiteSpace()
      let closer: UInt8 = frame.isObject ? .closeBrace : .closeBracket
      guard position < end, bytes[position] == .comma || bytes[position] == closer else {
        throw unexpected(frame.isObject ? "\",\" or \"}\"" : "\",\" or \"]\"")
      }
      position &+= 1
      if bytes[position &- 1] == .comma {
        skipWhiteSpace()
        if frame.isObject { try name() }
        return
      }
      frames.removeLast()
      if frame.isObject { try refuseDuplicates(since: frame.firstName) }
    }
  }

  private mutating func openObject() throws(JSONError) -> Bool {
    try open(Frame(isObject: true, firstName: names.count))
    guard position < end, bytes[position] == .closeBrace else {
      try name()
      return true
    }
    position &+= 1
    frames.removeLast()
    return false
  }

  private mutating func openArray() throws(JSONError) -> Bool {
    try open(Frame(isObject: false, firstName: names.count))
    guard position < end, bytes[position] == .closeBracket else { return true }
    position &+= 1
    frames.removeLast()
    return false
  }

  private mutating func open(_ frame: Frame) throws(JSONError) {
    guard frames.count < depthMax else {
      throw error(.tooDeep, "arrays and objects may be nested \(depthMax) deep at most")
    }
    frames.append(frame)
    position &+= 1
    skipWhiteSpace()
  }

  /// Passes over `"name" :` and the white space after it.
  private mutating func name() throws(JSONError) {
    guard position < end, bytes[position] == .quote else {
      throw unexpected("a member's name in quotes")
    }
    let nameStart = position &+ 1
    let escaped = try string()
    if names.isEmpty { names.reserveCapacity(Self.namesFirst) }
    names.append(
      Name(start: UInt32(nameStart), end: UInt32(position &- 1), escaped: escaped))
    skipWhiteSpace()
    guard position < end, bytes[position] == .colon else { throw unexpected("\":\"") }
    position &+= 1
    skipWhiteSpace()
  }

  private mutating func literal(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard position < end, bytes[position] == word.utf8Start[index] else {
        throw unexpected("\"\(word)\"")
      }
      position &+= 1
    }
  }

  mutating func skipWhiteSpace() {
    position = JSONScanner.skipWhiteSpace(bytes, from: position, to: end)
  }
}
