/// Request methods that an envelope may have.
package enum MethodSyntax {
  /// The most bytes of a method.
  package static let bytesMax = 32
  /// The rule for a method, as a part of a sentence.
  package static let rule =
    "a method of at most \(bytesMax) characters, such as POST, and not CONNECT, TRACE or TRACK"

  /// Whether some bytes are a method: a token (RFC 9110 section 9.1) that can be relayed.
  package static func isMethod(_ bytes: Span<UInt8>) -> Bool {
    guard !bytes.isEmpty, bytes.count <= bytesMax else { return false }
    for place in bytes.indices where !FieldSyntax.isTokenByte(bytes[place]) { return false }
    return canBeRelayed(bytes)
  }

  /// Whether a method can be stored and forwarded: not `CONNECT`, which asks for a tunnel, nor
  /// those of ``isTrace(_:)``.
  ///
  /// Methods are case-sensitive by the standard, but not every server keeps to that.
  package static func canBeRelayed(_ method: Span<UInt8>) -> Bool {
    !FieldSyntax.equals(method, "connect") && !isTrace(method)
  }

  /// Whether a method is `TRACE`, or `TRACK` as some servers call it, ignoring case.
  ///
  /// They make the upstream send back the request, with its credentials. A client that adds
  /// credentials must not send them (RFC 9110 section 9.3.8).
  package static func isTrace(_ method: Span<UInt8>) -> Bool {
    FieldSyntax.equals(method, "trace") || FieldSyntax.equals(method, "track")
  }
}
