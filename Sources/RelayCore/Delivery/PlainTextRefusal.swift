/// An answer by which a server says that it speaks TLS where it was sent plain text.
///
/// So it is about the configured URL, and says nothing of the request, which nobody has looked at.
/// nginx answers with 400 and a page of its own, and what is written in Go (`net/http`) with 400
/// and one line, without any header field. Nothing else counts: an upstream may repeat in an answer
/// what a device has sent.
package struct PlainTextRefusal: Sendable, Equatable {
  /// What the answer says.
  package let words: String

  private static let nginxWords = "The plain HTTP request was sent to HTTPS port"
  private static let goWords = "Client sent an HTTP request to an HTTPS server."

  /// Looks at an answer; nil if it is none of these.
  package init?(_ response: UpstreamResponse) {
    guard Self.canBe(response) else { return nil }
    if NginxPage.isOne(response, titled: "400 \(Self.nginxWords)") {
      words = Self.nginxWords
    } else if response.headers.isEmpty, response.body.elementsEqual("\(Self.goWords)\n".utf8) {
      words = Self.goWords
    } else {
      return nil
    }
  }

  /// Whether an answer can be one of these as far as its status tells: the answer to `HEAD` has no
  /// more.
  package static func canBe(_ response: UpstreamResponse) -> Bool { response.status == 400 }
}
