/// A value in a JSON text that has been found to be well formed; a view, nothing is copied.
///
/// Reading works in two passes: ``parse(_:in:)`` checks all of the text at once, and what is asked
/// for afterwards is found by stepping over it again. No tree is built, so an array of ten million
/// numbers costs no more memory than its text, and `raw` is every value as it was written.
///
/// Looking up a member by name is linear in the size of the object; to decode one with many known
/// members go through ``JSONObject`` once and switch over the names.
package struct JSONValue: Sendable {
  /// The types that RFC 8259 knows, `true` and `false` taken together.
  package enum Kind: String, Sendable {
    case object, array, string, number, boolean, null
  }

  /// The text that the value is in.
  package let text: [UInt8]
  /// Where in `text` the value lies, without white space around it.
  package let range: Range<Int>
  /// Where in `text` the document lies that paths are relative to.
  let document: Range<Int>

  init(text: [UInt8], range: Range<Int>, document: Range<Int>) {
    self.text = text
    self.range = range
    self.document = document
  }

  /// Reads the one value that `text`, or the part of it in `range`, holds.
  ///
  /// The text must be RFC 8259 to the letter, in UTF-8 without a byte order mark, with no name
  /// twice in an object, no lone surrogate, and nesting no deeper than ``JSONLimits/depthMax``.
  ///
  /// - Throws: The first thing that is wrong; offsets count from the start of `text`, paths from
  ///   the value that is read.
  package static func parse(
    _ text: [UInt8], in range: Range<Int>? = nil
  ) throws(JSONError) -> JSONValue {
    let document = range ?? 0..<text.count
    precondition(document.lowerBound >= 0 && document.upperBound <= text.count)
    precondition(text.count <= JSONLimits.textBytesMax)
    // A closure cannot yet throw a typed error through `withUnsafeBytes`; a Result can.
    let result = text.withUnsafeBytes { bytes -> Result<Range<Int>, JSONError> in
      var validator = JSONValidator(bytes, in: document)
      do throws(JSONError) {
        return .success(try validator.validateDocument())
      } catch {
        return .failure(error)
      }
    }
    return JSONValue(text: text, range: try result.get(), document: document)
  }

  /// What type the value is of; its first byte tells.
  package var kind: Kind {
    switch text[range.lowerBound] {
    case .openBrace: .object
    case .openBracket: .array
    case .quote: .string
    case 0x74, 0x66: .boolean
    case 0x6E: .null
    default: .number
    }
  }

  /// The value byte for byte as it was written.
  package var raw: ArraySlice<UInt8> { text[range] }

  /// Whether the value is `null`.
  package var isNull: Bool { kind == .null }

  /// Where the value stands in its document, as a JSON pointer (RFC 6901).
  ///
  /// Worked out by going through the document again: for errors, not for every value.
  package var path: String {
    text.withUnsafeBytes {
      JSONPointer.path(
        to: range.lowerBound, in: $0, from: document.lowerBound, to: document.upperBound)
    }
  }

  /// An error at this value, in the words of the caller.
  package func error(_ kind: JSONError.Kind, _ reason: String) -> JSONError {
    JSONError(kind: kind, offset: range.lowerBound, path: path, reason: reason)
  }

  /// The error for a value that is not what was asked for.
  package func wrongType(expected: String) -> JSONError {
    error(.wrongType, "expected \(expected) but found \(kind.inWords)")
  }
}

extension JSONValue.Kind {
  /// The type with its article, to stand in a sentence.
  package var inWords: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .string: "a string"
    case .number: "a number"
    case .boolean: "true or false"
    case .null: "null"
    }
  }
}
