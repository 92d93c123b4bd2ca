/// An answer by which a server says that it speaks TLS where it was sent plain text.
///
/// So it is about the configured URL, and says nothing of the request, which nobody has looked at.
/// nginx answers with 400 and a page of its own; what is written in Go (`net/http`) with 400 and
/// one line, without any header field; and Waystation with 400 and another line, with no field but
/// three. Nothing else counts: an upstream may repeat in an answer what a device has sent.
package struct PlainTextRefusal: Sendable, Equatable {
  /// What the answer says.
  package let words: String

  private static let nginxWords = "The plain HTTP request was sent to HTTPS port"
  private static let goWords = "Client sent an HTTP request to an HTTPS server."
  /// What Waystation itself answers, on a line of text.
  package static let ownWords = "This port speaks TLS: use https:// instead."
  /// The fields of that answer: `Content-Type`, `Content-Length` and `Connection`.
  private static let ownFieldCount = 3

  /// Looks at an answer; nil if it is none of these.
  ///
  /// - Parameter fieldCount: The number of fields with which it came, also of those that end at the
  ///   relay.
  package init?(_ response: UpstreamResponse, fieldCount: Int) {
    guard Self.canBe(response) else { return nil }
    if NginxPage.isOne(response, saying: Self.nginxWords) {
      words = Self.nginxWords
    } else if fieldCount == 0, Self.is(response, Self.goWords) {
      words = Self.goWords
    } else if fieldCount == Self.ownFieldCount,
      response.headers.first("Content-Type") == "text/plain", Self.is(response, Self.ownWords)
    {
      words = Self.ownWords
    } else {
      return nil
    }
  }

  /// Whether an answer can be one of these as far as its status tells: the answer to `HEAD` has no
  /// more.
  package static func canBe(_ response: UpstreamResponse) -> Bool { response.status == 400 }

  private static func `is`(_ response: UpstreamResponse, _ words: String) -> Bool {
    response.body.elementsEqual("\(words)\n".utf8)
  }
}
