import RelayCore

extension EndpointContext {
  /// What the upstream calls the mistake for which it refused an envelope that stands so; nil if it
  /// was not refused, the mistake has no name, or the store cannot be read just now.
  func errorID(of id: EnvelopeID, _ state: EnvelopeState) async -> String? {
    guard state == .blocked || state == .failed, let answer = try? await store.response(id) else {
      return nil
    }
    return UpstreamErrorID.find(in: answer)
  }
}
