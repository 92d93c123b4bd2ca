import RelayCore

/// Envelopes that were read to be attempted, their references filled.
struct FilledEnvelopes: Sendable {
  /// Those that can be sent.
  var ready: [DeliverableEnvelope] = []
  /// Why the others cannot.
  var unsendable: [Serial: String] = [:]

  /// The reports to record for the envelopes that cannot be sent.
  func reports(at time: WallTime) -> [AttemptReport] {
    unsendable.sorted { $0.key < $1.key }.map { serial, reason in
      AttemptReport(
        serial: serial, event: .unsendable(reason: reason), startedAt: time, durationMs: 0)
    }
  }
}

extension Dispatcher {
  /// Fills references from what the store has kept; whatever holds none stays as it is.
  func filled(_ loaded: [DeliverableEnvelope]) async throws(StoreError) -> FilledEnvelopes {
    var filled = FilledEnvelopes()
    for envelope in loaded {
      guard envelope.references else {
        filled.ready.append(envelope)
        continue
      }
      switch try await store.filled(envelope.content, for: envelope.serial) {
      case .success(let content):
        var ready = envelope
        ready.content = content
        filled.ready.append(ready)
      case .failure(let fault): filled.unsendable[envelope.serial] = fault.detail
      }
    }
    return filled
  }
}
