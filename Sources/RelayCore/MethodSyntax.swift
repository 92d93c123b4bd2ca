/// Request methods that an envelope may have.
package enum MethodSyntax {
  /// The most bytes of a method.
  package static let bytesMax = 32
  /// What a method has to be, as a part of a sentence.
  package static let rule =
    "a method of at most \(bytesMax) characters, such as POST, and not CONNECT, TRACE or TRACK"

  /// Whether some bytes are a method: a token (RFC 9110 section 9.1) that can be relayed.
  package static func isMethod(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard !bytes.isEmpty, bytes.count <= bytesMax else { return false }
    for byte in bytes where !FieldSyntax.isTokenByte(byte) { return false }
    return canBeRelayed(bytes.span)
  }

  /// Whether a method asks for something that can be stored and forwarded: `CONNECT` asks for a
  /// tunnel, and see ``isTrace(_:)``.
  ///
  /// Letters' case does count by the standard, but not every server holds to that.
  package static func canBeRelayed(_ method: Span<UInt8>) -> Bool {
    !FieldSyntax.equals(method, "connect") && !isTrace(method)
  }

  /// Whether a method is `TRACE`, or `TRACK` as some call it, in any case.
  ///
  /// They have the upstream send back what it was sent, its own credentials among it: whoever adds
  /// some must not send these (RFC 9110 section 9.3.8).
  package static func isTrace(_ method: Span<UInt8>) -> Bool {
    FieldSyntax.equals(method, "trace") || FieldSyntax.equals(method, "track")
  }
}
