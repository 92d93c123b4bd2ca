/// Why a text was not taken as JSON, or a value not as what was asked for.
///
/// An error says where (`offset`, `path`) and what (`kind`, `reason`), so that it can be shown
/// to the person who wrote the text as it is.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What went wrong, for code that has to tell cases apart.
  package enum Kind: Equatable, Sendable {
    /// The text ended inside a value, or held no value at all.
    case unexpectedEnd
    /// A byte stands where the grammar of RFC 8259 has no place for it.
    case unexpectedByte
    /// The text begins with a byte order mark (RFC 8259 section 8.1 forbids sending one).
    case byteOrderMark
    /// The bytes are not UTF-8 (RFC 3629: overlong forms and surrogates are none).
    case invalidUTF8
    /// A control character below U+0020 stands unescaped in a string.
    case controlCharacter
    /// A backslash is followed by something that is no escape.
    case invalidEscape
    /// A `\u` escape names half of a surrogate pair.
    case loneSurrogate
    /// A number does not follow the grammar: a leading zero or plus, no digit after a point, …
    case invalidNumber
    /// An object has the same name twice; RFC 8259 section 4 leaves the meaning open, so it is
    /// refused.
    case duplicateName
    /// Arrays and objects are nested deeper than ``JSONLimits/depthMax``.
    case tooDeep
    /// An array has more elements than the reader was told to take.
    case tooManyElements
    /// Something other than white space follows the value.
    case trailingContent
    /// The value is of another type than the one asked for.
    case wrongType
    /// The number does not fit the type asked for.
    case numberOutOfRange
  }

  /// What went wrong.
  package let kind: Kind
  /// The offset of the offending byte in the bytes that were handed in.
  package let offset: Int
  /// Where in the document, as a JSON pointer (RFC 6901); empty for the document itself.
  package let path: String
  /// What was expected and what stands there, without the place.
  package let reason: String

  /// A sentence with the reason and the place.
  package var description: String {
    path.isEmpty ? "\(reason), at byte \(offset)" : "\(reason), at byte \(offset) (\(path))"
  }

  /// Puts an error together; `reason` leaves out the place.
  package init(kind: Kind, offset: Int, path: String, reason: String) {
    self.kind = kind
    self.offset = offset
    self.path = path
    self.reason = reason
  }
}

/// The limits of the reader.
package enum JSONLimits {
  /// How deep arrays and objects may be nested, counting the outermost.
  package static let depthMax = 512
  /// How many bytes a text may have; offsets of names are kept in 32 bits.
  package static let textBytesMax = Int(UInt32.max)
}
