import Forwarder
import RelayCore

// The end of an envelope's own request to an upstream whose envelopes otherwise go together.
extension AttemptReport {
  /// Reads what the answer says of the envelope.
  ///
  /// - Parameter tokenMask: What hides the access token that was sent.
  mutating func readAlone(from target: UpstreamTarget, _ tokenMask: CredentialMask?) {
    guard let form = target.batch else { return }
    guard !form.isRelay else {
      unpack(from: target, tokenMask, bytesMax: target.readAloneBytesMax)
      return read(alone: target)
    }
    guard case .answered(let response) = event else { return }
    switch BatchAnswer(
      alone: response, as: form, bodyBytesMax: target.responseBodyBytesMax)
    {
    case .whole(let response): event = .answered(response)
    case .unreadable(let reason):
      event = .failed(.malformedResponse, detail: "the upstream \(reason)")
    case .unfitting(let reason):
      event = .failed(.malformedResponse, detail: "the upstream \(reason)")
      isUnsettled = true
    case .each(let results):
      guard var own = results.first else { return }
      if response.headers.has("Content-Encoding") {
        // What came compressed could not be searched for credentials before.
        own = target.credentials.masked(own)
        if let tokenMask { own = tokenMask.masked(own) }
      }
      event = .answered(own)
      // A result is one envelope's, and so is the wait that it asks for.
      isOfClient = true
    }
  }
}

extension UpstreamTarget {
  /// The most bytes that are read of the answer to an envelope's own request, where that may have a
  /// result in it.
  var readAloneBytesMax: Int {
    BatchAnswer.unpackedBytesMax(count: 1, bodyBytesMax: responseBodyBytesMax)
  }
}
