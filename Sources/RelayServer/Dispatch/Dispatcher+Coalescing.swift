import RelayCore

// Posts that take the place of what waits: what the store asks and tells, on its own thread.
extension Dispatcher {
  /// Keeps an envelope from being attempted while the store replaces it.
  package func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool {
    apply { state, _ in state.scheduler.reserve(serial, in: lane) }
  }

  /// Takes in what was replaced.
  package func coalesced(_ envelopes: [CoalescedEnvelope]) -> [Int?] {
    meter.count(.accepted, envelopes.count, at: clock().monotonic)
    if let deadline = envelopes.lazy.map(\.entry.expiresAt).min() { deadlines.note(deadline) }
    tell(envelopes)
    tracer.coalesced(envelopes)
    return apply { state, now in
      envelopes.map { envelope in
        _ = state.contents.take(envelope.entry.serial)
        if !envelope.draft.references { state.contents.insert(envelope.deliverable) }
        return state.scheduler.coalesced(envelope, now: now)
      }
    }
  }

  /// Lets go of what was not replaced after all.
  package func released(_ reserved: [Serial: LaneNumber]) {
    apply { state, now in
      for (serial, lane) in reserved.sorted(by: { $0.key < $1.key }) {
        state.scheduler.released(serial, in: lane, now: now)
      }
    }
    // A deadline may have passed meanwhile, and was left alone.
    deadlines.note(clock().wall)
  }
}

extension CoalescedEnvelope {
  /// What an attempt needs of it.
  fileprivate var deliverable: DeliverableEnvelope {
    DeliverableEnvelope(
      serial: entry.serial, id: id, client: draft.client, key: draft.key, content: draft.content,
      references: draft.references, revision: revision)
  }
}
