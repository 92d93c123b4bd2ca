import RelayCore

/// What may stand in a request line; anything else would let an envelope write more than its own
/// request, and is refused before it reaches libcurl.
package enum RequestLine {
  /// Why this request cannot be sent, as a sentence; nil if it can.
  package static func fault(in content: EnvelopeContent) -> String? {
    let method = content.method.utf8
    guard !method.isEmpty, method.allSatisfy(FieldSyntax.isTokenByte) else {
      return "the method is not a token (RFC 9110 section 9.1)"
    }
    // A tunnel is no request that could be stored and forwarded.
    guard content.method != "CONNECT" else { return "CONNECT cannot be forwarded" }
    guard content.target.first == UInt8(ascii: "/") else {
      return "the target does not begin with a slash (RFC 9112 section 3.2.1)"
    }
    let target = content.target.span
    for index in target.indices where target[index] <= 0x20 || target[index] == 0x7F {
      return "the target holds a blank or a control character"
    }
    return nil
  }

  /// Whether a request without a body says so with `Content-Length: 0` (RFC 9110 section 8.6).
  static func announcesEmptyBody(_ method: String) -> Bool {
    method == "POST" || method == "PUT" || method == "PATCH"
  }
}
