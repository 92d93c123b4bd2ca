/// The reason that a text is not JSON, or a value not of the requested type.
///
/// It has the place (`offset`, `path`) and the fault (`kind`, `reason`), so that it can be shown to
/// the author of the text as it is.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of fault, for code that has to tell cases apart.
  package enum Kind: Equatable, Sendable {
    /// The text ended inside a value, or held no value at all.
    case unexpectedEnd
    /// A byte is not allowed there by the grammar of RFC 8259.
    case unexpectedByte
    /// The text begins with a byte order mark (RFC 8259 section 8.1 forbids sending one).
    case byteOrderMark
    /// The bytes are not UTF-8 (RFC 3629: overlong forms and surrogates are none).
    case invalidUTF8
    /// A control character below U+0020 stands unescaped in a string.
    case controlCharacter
    /// A backslash is followed by something that makes no escape.
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
    /// An array has more elements than the reader was told to accept.
    case tooManyElements
    /// Something other than white space follows the value.
    case trailingContent
    /// The value is of another type than the requested one.
    case wrongType
    /// The number does not fit the requested type.
    case numberOutOfRange
  }

  /// The kind of fault.
  package let kind: Kind
  /// The offset of the offending byte in the bytes that were handed in.
  package let offset: Int
  /// The place in the document, as a JSON pointer (RFC 6901); empty for the document itself.
  package let path: String
  /// The expected value and the one found, without the place.
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
  /// The deepest nesting of arrays and objects, the outermost included.
  package static let depthMax = 512
  /// The most bytes of a text; offsets of names are kept in 32 bits.
  package static let textBytesMax = Int(UInt32.max)
}
