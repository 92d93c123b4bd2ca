import RelayCore

// Answers that are not the upstream's about the request.
extension Transfer {
  /// The most bytes of an answer's body that are needed to know it as one of these.
  var refusalBytesMax: Int { NginxPage.bodyBytesMax }

  /// The attempt's end, if what was answered is not about the request; the upstream has then taken
  /// nothing.
  ///
  /// - Parameter fieldCount: The number of fields with which it came.
  func refusal(in response: UpstreamResponse, fieldCount: Int) -> AttemptEvent? {
    if isFromProxy(response) {
      return .failed(
        .connect,
        detail: "no connection to \(target.url.authority) could be made: the proxy answered 407")
    }
    let authority = target.url.authority
    let answer = { (words: String) in "it answered \(response.status) (\(words))" }
    guard target.url.scheme == .https else {
      return PlainTextRefusal(response, fieldCount: fieldCount).map { refusal in
        .failed(
          .tls,
          detail: "\(authority) speaks TLS, and its url begins with http: \(answer(refusal.words))")
      }
    }
    guard let refusal = ClientCertificateRefusal(response) else { return nil }
    return .failed(
      .credentials,
      detail: target.identity == nil
        ? "\(authority) asks for a client certificate: \(answer(refusal.words))"
        : "\(authority) refused the relay's client certificate: \(answer(refusal.words))")
  }

  /// Whether a response comes from a proxy and not from the upstream.
  ///
  /// Only a proxy asks for credentials by this status (RFC 9110 section 15.5.8); the upstream has
  /// then seen nothing of the request.
  private func isFromProxy(_ response: UpstreamResponse) -> Bool {
    response.status == 407 && target.proxy != nil && target.url.scheme == .http
  }
}
