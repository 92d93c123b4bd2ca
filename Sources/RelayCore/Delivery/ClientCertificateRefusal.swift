/// An answer by which nginx says that it does not accept the client's certificate.
///
/// nginx completes the handshake whatever certificate it is shown, and then answers each request
/// with 400 and a page of its own (`ngx_http_ssl_module`, the statuses 495 and 496, which it sends
/// as 400). So the answer is about whoever sent the request, and says nothing of the request.
///
/// Only nginx's own page counts, from its first byte to its last: an upstream behind nginx may
/// repeat in an answer what a device has sent.
package struct ClientCertificateRefusal: Sendable, Equatable {
  /// What the page says, such as "No required SSL certificate was sent".
  package let words: String

  private static let phrases = [
    "No required SSL certificate was sent", "The SSL certificate error",
  ]

  /// Looks at an answer; nil if it is none of these.
  package init?(_ response: UpstreamResponse) {
    guard Self.canBe(response),
      let words = Self.phrases.first(where: { NginxPage.isOne(response, saying: $0) })
    else { return nil }
    self.words = words
  }

  /// Whether an answer can be one of these as far as its status and fields tell: the answer to
  /// `HEAD` has no more.
  package static func canBe(_ response: UpstreamResponse) -> Bool {
    response.status == 400 && NginxPage.mayBe(response)
  }
}
