/// A value in a JSON text that is known to be well formed; a view without a copy.
///
/// Reading works in two passes: ``parse(_:in:)`` checks the whole text at once, and values
/// requested later are found by stepping over it again. No tree is built, so an array of ten
/// million numbers costs no more memory than its text, and `raw` is every value as it was written.
///
/// Looking up a member by name is linear in the size of the object. To decode one with many known
/// members, iterate over ``JSONObject`` once and switch over the names.
package struct JSONValue: Sendable {
  /// The types of RFC 8259, with `true` and `false` as one.
  package enum Kind: String, Sendable {
    case object, array, string, number, boolean, null
  }

  /// The text that the value is in.
  package let text: [UInt8]
  /// The value's range in `text`, without white space around it.
  package let range: Range<Int>
  /// The range in `text` of the document that paths are relative to.
  let document: Range<Int>

  init(text: [UInt8], range: Range<Int>, document: Range<Int>) {
    self.text = text
    self.range = range
    self.document = document
  }

  /// Parses the one value in `text`, or in its part `range`.
  ///
  /// The text must be RFC 8259 to the letter, in UTF-8 without a byte order mark, with no name
  /// twice in an object, no lone surrogate, and nesting no deeper than `depthMax`.
  ///
  /// - Parameter depthMax: The deepest nesting, if the value is to stand within others.
  /// - Throws: The first fault; offsets count from the start of `text`, paths from the value that
  ///   is read.
  package static func parse(
    _ text: [UInt8], in range: Range<Int>? = nil, depthMax: Int = JSONLimits.depthMax
  ) throws(JSONError) -> JSONValue {
    let document = range ?? 0..<text.count
    precondition(document.lowerBound >= 0 && document.upperBound <= text.count)
    precondition(text.count <= JSONLimits.textBytesMax)
    // A closure cannot yet throw a typed error through `withUnsafeBytes`; a Result can.
    let result = text.withUnsafeBytes { bytes -> Result<Range<Int>, JSONError> in
      var validator = JSONValidator(bytes, in: document, depthMax: depthMax)
      do throws(JSONError) {
        return .success(try validator.validateDocument())
      } catch {
        return .failure(error)
      }
    }
    return JSONValue(text: text, range: try result.get(), document: document)
  }

  /// The value's type, read off its first byte.
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

  /// The value's bytes as they were written.
  package var raw: ArraySlice<UInt8> { text[range] }

  /// Whether the value is `null`.
  package var isNull: Bool { kind == .null }

  /// The value's place in its document, as a JSON pointer (RFC 6901).
  ///
  /// Computed by going through the document again: for errors, not for every value.
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

  /// The error for a value of another type than expected.
  package func wrongType(expected: String) -> JSONError {
    error(.wrongType, "expected \(expected) but found \(kind.inWords)")
  }
}

extension JSONValue.Kind {
  /// The type with its article, for a sentence.
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
