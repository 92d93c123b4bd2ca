import RelayCore

/// Checks what may be part of a request line.
///
/// Anything else would let an envelope write more than its own request, and is refused before it
/// reaches libcurl.
package enum RequestLineCheck {
  /// The reason that a request cannot be sent, as a sentence; nil if it can.
  package static func fault(in content: EnvelopeContent) -> String? {
    let method = content.method.utf8.span
    guard !method.isEmpty, method.indices.allSatisfy({ FieldSyntax.isTokenByte(method[$0]) }) else {
      return "the method is not a token (RFC 9110 section 9.1)"
    }
    guard MethodSyntax.canBeRelayed(method) else {
      return "\(content.method) cannot be forwarded"
    }
    // Whatever was checked before, the request that is sent is what counts.
    let refusal = TargetSyntax.refusal(
      of: content.target[...], bytesMax: TargetSyntax.handedOnBytesMax)
    return refusal.map { "the path \($0)" }
  }

  /// Whether a request without a body announces that with `Content-Length: 0` (RFC 9110 section
  /// 8.6).
  static func announcesEmptyBody(_ method: String) -> Bool {
    method == "POST" || method == "PUT" || method == "PATCH"
  }
}
