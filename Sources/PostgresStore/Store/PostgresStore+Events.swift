#if PostgreSQL
import RelayCore

// The log of events.
extension PostgresStore {
  /// See ``EnvelopeStore``.
  package func note(_ entry: EventEntry) async throws(StoreError) {
    try await write { writer throws(StoreError) in try writer.note(entry) }
  }

  /// See ``EnvelopeStore``.
  package func eventLogSpan() async throws(StoreError) -> EventLogSpan {
    try await read { reader throws(StoreError) in try reader.eventLogSpan() }
  }

  /// See ``EnvelopeStore``.
  package func events(
    behind position: EventPosition, _ filter: EventFilter, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EventPage {
    let posted = filter.envelope.map { id in self.serial(in: id) }
    return try await read { reader throws(StoreError) in
      try reader.events(
        behind: position, filter, postedUnder: posted, countMax: countMax, looksMax: looksMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func forgetEvents(
    before time: WallTime, countMax: Int
  ) async throws(StoreError) -> Bool {
    try await write { writer throws(StoreError) in
      try writer.forgetEvents(before: time, countMax: countMax)
    }
  }
}
#endif
