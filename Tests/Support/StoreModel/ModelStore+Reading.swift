import RelayCore
import Synchronization

// What there is to look at.
extension ModelStore {
  /// See ``EnvelopeStore``.
  package func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String] {
    try look { tables in
      Dictionary(uniqueKeysWithValues: tables.upstreams.map { ($0.value, $0.key) })
    }
  }

  /// See ``EnvelopeStore``.
  package func line(after serial: Serial, countMax: Int) async throws(StoreError) -> LinePage {
    try look { $0.page(after: serial, countMax: countMax) }
  }

  /// See ``EnvelopeStore``.
  package func line(before serial: Serial, countMax: Int) async throws(StoreError) -> LinePage {
    try look { $0.page(before: serial, countMax: countMax) }
  }

  /// See ``EnvelopeStore``.
  package func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry] {
    try look { tables in serials.compactMap { tables.place(of: $0) } }
  }

  /// See ``EnvelopeStore``.
  package func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope] {
    try look { tables in
      serials.compactMap { serial in
        guard let envelope = tables.envelopes[serial], envelope.end == nil else { return nil }
        let draft = envelope.draft
        return DeliverableEnvelope(
          serial: serial, id: envelope.id, client: draft.client, key: draft.key,
          content: draft.content, references: draft.references, revision: envelope.revision)
      }
    }
  }

  /// See ``EnvelopeStore``.
  package func terms(of serials: [Serial]) async throws(StoreError) -> [Serial: SenderTerms] {
    try look { tables in
      serials.reduce(into: [:]) { terms, serial in
        guard let envelope = tables.envelopes[serial], envelope.end == nil else { return }
        let draft = envelope.draft
        terms[serial] = SenderTerms(
          lane: draft.lane, sequence: draft.sequence, tag: draft.tag, coalesce: draft.coalesce)
      }
    }
  }

  /// See ``EnvelopeStore``.
  package func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord? {
    try look { $0.record(id) }
  }

  /// See ``EnvelopeStore``.
  package func envelope(client: String, key: String) async throws(StoreError) -> EnvelopeID? {
    try look { tables in
      tables.clients[client].flatMap { tables.keys[$0]?[key] }
        .flatMap { tables.envelopes[$0.serial]?.id }
    }
  }

  /// See ``EnvelopeStore``.
  package func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID] {
    try look { tables in
      serials.reduce(into: [:]) { $0[$1] = tables.envelopes[$1]?.id }
    }
  }

  /// See ``EnvelopeStore``.
  package func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse? {
    try look { tables in tables.serial(of: id).flatMap { tables.envelopes[$0]?.response } }
  }

  /// See ``EnvelopeStore``.
  package func client(_ name: String) async throws(StoreError) -> ClientRecord? {
    try look { $0.client(name) }
  }

  /// See ``EnvelopeStore``.
  package func clientNames(
    _ numbers: [ClientNumber]
  ) async throws(StoreError) -> [ClientNumber: String] {
    try look { tables in
      tables.clients.reduce(into: [:]) { names, client in
        if numbers.contains(client.value) { names[client.value] = client.key }
      }
    }
  }

  /// See ``EnvelopeStore``.
  package func laneNames(
    _ numbers: [LaneNumber]
  ) async throws(StoreError) -> [LaneNumber: LaneName] {
    try look { tables in
      numbers.reduce(into: [:]) { $0[$1] = tables.lanes[$1]?.name }
    }
  }

  /// See ``EnvelopeStore``.
  package func statistics() -> StoreStatistics { disk.tables.withLock { $0.statistics } }

  /// See ``EnvelopeStore``.
  package func pauses() async throws(StoreError) -> Set<PauseTarget> { try look { $0.pauses } }
}
