import RelayCore

// Answers that are not the upstream's about the request.
extension Transfer {
  /// The most bytes of an answer's body that are needed to know it as one of these.
  var refusalBytesMax: Int {
    target.url.scheme == .https ? ClientCertificateRefusal.bodyBytesMax : 0
  }

  /// The attempt's end, if what was answered is not about the request; the upstream has then taken
  /// nothing.
  func refusal(in response: UpstreamResponse) -> AttemptEvent? {
    if isFromProxy(response) {
      return .failed(
        .connect,
        detail: "no connection to \(target.url.authority) could be made: the proxy answered 407")
    }
    guard target.url.scheme == .https, let refusal = ClientCertificateRefusal(response) else {
      return nil
    }
    let answer = "it answered \(response.status) (\(refusal.words))"
    let authority = target.url.authority
    return .failed(
      .credentials,
      detail: target.identity == nil
        ? "\(authority) asks for a client certificate: \(answer)"
        : "\(authority) refused the relay's client certificate: \(answer)")
  }

  /// Whether a response comes from a proxy and not from the upstream.
  ///
  /// Only a proxy asks for credentials by this status (RFC 9110 section 15.5.8); the upstream has
  /// then seen nothing of the request.
  private func isFromProxy(_ response: UpstreamResponse) -> Bool {
    response.status == 407 && target.proxy != nil && target.url.scheme == .http
  }
}
