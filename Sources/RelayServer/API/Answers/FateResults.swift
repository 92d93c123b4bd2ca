import JSON
import RelayCore

/// The states of the envelopes that were asked about, in their order (`FateResults` in
/// `openapi.yaml`).
package struct FateResults: Sendable {
  private let references: [EnvelopeReference]
  private let fates: [EnvelopeFate?]
  private let inFlight: Set<Serial>

  /// Pairs what was asked with what is known.
  ///
  /// - Parameter inFlight: The envelopes of which an attempt is under way.
  package init(
    _ references: [EnvelopeReference], _ fates: [EnvelopeFate?], inFlight: Set<Serial>
  ) {
    self.references = references
    self.fates = fates
    self.inFlight = inFlight
  }

  /// The JSON that is answered.
  package func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.memberArray("results") { json in
        for (reference, fate) in zip(references, fates) { write(reference, fate, to: &json) }
      }
    }
    return json.finish()
  }

  private func write(
    _ reference: EnvelopeReference, _ fate: EnvelopeFate?, to json: inout JSONWriter
  ) {
    json.object { json in
      switch reference {
      case .id(let id): json.member("id", id.description)
      case .key(let key, _):
        json.member("key", key)
        if let fate { json.member("id", fate.id.description) }
      }
      json.member("found", fate != nil)
      guard let fate else { return }
      let isInFlight = fate.state == .queued && inFlight.contains(fate.serial)
      json.member("state", (isInFlight ? EnvelopeState.delivering : fate.state).rawValue)
      if let reason = fate.reason { json.member("reason", reason) }
      json.member("endedAt", fate.endedAt)
      json.member("attemptCount", fate.attemptCount)
      if let status = fate.responseStatus { json.member("responseStatus", status) }
    }
  }
}
