import JSON
import RelayCore

/// A text cut into what stays and the references in it.
struct ReferenceTemplate {
  /// The encoding of a value for the text around it.
  enum Form {
    /// It stands there as it is.
    case plain
    /// All but unreserved characters are percent-encoded (RFC 3986 section 2.3); the reference
    /// itself may have been as well.
    case percentEncoded
    /// It stands within strings, escaped.
    case json
  }

  private enum Piece {
    case literal([UInt8])
    case reference(Reference)
    /// A JSON string, from quote to quote.
    case string([Piece])
  }

  private let form: Form
  private let pieces: [Piece]

  /// The references, in order.
  let references: [Reference]

  /// Cuts a text.
  ///
  /// With references, two opening braces always begin one.
  init(_ text: [UInt8], _ form: Form) throws(ReferenceFault) {
    self.form = form
    pieces =
      switch form {
      case .plain: try Self.cut(text) { text, index in (text[index], index + 1) }
      case .percentEncoded: try Self.cut(text) { PercentEncoding.decodedByte(of: $0[...], at: $1) }
      case .json: try Self.cutJSON(text)
      }
    references = Self.references(in: pieces)
  }

  /// The text with a value in each reference's place.
  func filled(
    _ value: (Reference) throws(ReferenceFault) -> [UInt8]
  ) throws(ReferenceFault) -> [UInt8] {
    var text: [UInt8] = []
    for piece in pieces {
      switch piece {
      case .literal(let bytes): text += bytes
      case .reference(let reference):
        let bytes = try value(reference)
        text += form == .percentEncoded ? PercentEncoding.encode(bytes) : bytes
      case .string(let pieces):
        var string: [UInt8] = []
        for piece in pieces {
          switch piece {
          case .literal(let bytes): string += bytes
          case .reference(let reference): string += try value(reference)
          case .string: preconditionFailure("a string holds no string")
          }
        }
        text += JSONStrings.quoted(utf8: string)
      }
    }
    return text
  }

  // MARK: - Cutting

  /// Cuts a text whose characters `decode` reads: the byte at an index, and where the next begins.
  private static func cut(
    _ text: [UInt8], _ decode: ([UInt8], Int) -> (byte: UInt8, next: Int)
  ) throws(ReferenceFault) -> [Piece] {
    var pieces: [Piece] = []
    var literalStart = 0
    var index = 0
    while index < text.count {
      guard let inside = end(of: Reference.opening, in: text, at: index, decode) else {
        index = decode(text, index).next
        continue
      }
      if literalStart < index { pieces.append(.literal(Array(text[literalStart..<index]))) }
      var words: [UInt8] = []
      var position = inside
      var after: Int?
      while position < text.count {
        after = end(of: Reference.closing, in: text, at: position, decode)
        if after != nil { break }
        let (byte, next) = decode(text, position)
        words.append(byte)
        position = next
      }
      guard let after else { throw ReferenceFault("a reference has no end: {{ without }}") }
      pieces.append(.reference(try Reference(parsing: words)))
      index = after
      literalStart = after
    }
    if literalStart < text.count { pieces.append(.literal(Array(text[literalStart...]))) }
    return pieces
  }

  /// The end of two braces at an index; nil if they are not there.
  private static func end(
    of braces: [UInt8], in text: [UInt8], at index: Int,
    _ decode: ([UInt8], Int) -> (byte: UInt8, next: Int)
  ) -> Int? {
    var index = index
    for brace in braces {
      guard index < text.count else { return nil }
      let (byte, next) = decode(text, index)
      guard byte == brace else { return nil }
      index = next
    }
    return index
  }

  /// Cuts JSON, in whose strings alone references can stand; lines of JSON as well.
  private static func cutJSON(_ text: [UInt8]) throws(ReferenceFault) -> [Piece] {
    guard isJSON(text) else {
      throw ReferenceFault("its type says JSON, and it is none; references stand within strings")
    }
    var pieces: [Piece] = []
    var literalStart = 0
    for range in JSONStrings.ranges(in: text) {
      let inner = try cut(JSONStrings.utf8(of: text, in: range)) { text, index in
        (text[index], index + 1)
      }
      // A string without references stays as it was written.
      guard !references(in: inner).isEmpty else { continue }
      pieces.append(.literal(Array(text[literalStart..<range.lowerBound])))
      pieces.append(.string(inner))
      literalStart = range.upperBound
    }
    pieces.append(.literal(Array(text[literalStart...])))
    return pieces
  }

  private static func isJSON(_ text: [UInt8]) -> Bool {
    if (try? JSONValue.parse(text)) != nil { return true }
    let lines = text.split(separator: 0x0A).filter { line in
      !line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    }
    return lines.allSatisfy { (try? JSONValue.parse(text, in: $0.startIndex..<$0.endIndex)) != nil }
  }

  private static func references(in pieces: [Piece]) -> [Reference] {
    var found: [Reference] = []
    for piece in pieces {
      switch piece {
      case .literal: break
      case .reference(let reference): found.append(reference)
      case .string(let pieces): found += references(in: pieces)
      }
    }
    return found
  }
}
