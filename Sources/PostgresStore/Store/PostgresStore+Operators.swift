#if PostgreSQL
import RelayCore

// What operators keep in the store, beside what senders do: tokens, acts, operations, the history.
// Any relay may write it: its transactions are fenced by the seat alone, and by no shard.

extension PostgresStore {
  /// See ``AccessStore``.
  package func tokens(
    after id: String, client: String?, countMax: Int
  ) async throws(StoreError) -> TokenPage {
    try await read { reader throws(StoreError) in
      try reader.tokens(after: id, client: client, countMax: countMax)
    }
  }

  /// See ``AccessStore``.
  package func insertToken(_ record: TokenRecord) async throws(StoreError) -> Bool {
    try await write { writer throws(StoreError) in try writer.insertToken(record) }
  }

  /// See ``AccessStore``.
  package func renewToken(
    _ record: TokenRecord, after number: Int64
  ) async throws(StoreError) -> TokenRecord? {
    try await write { writer throws(StoreError) in try writer.renewToken(record, after: number) }
  }

  /// See ``AccessStore``.
  package func deleteToken(_ id: String) async throws(StoreError) -> Bool {
    try await write { writer throws(StoreError) in try writer.deleteToken(id) }
  }

  // MARK: - Acts

  /// See ``AuditStore``.
  package func beginAct(_ act: AuditAct) async throws(StoreError) -> Int64 {
    try await write { writer throws(StoreError) in try writer.beginAct(act) }
  }

  /// See ``AuditStore``.
  package func endAct(_ number: Int64, _ end: AuditEnd) async throws(StoreError) {
    try await write { writer throws(StoreError) in try writer.endAct(number, end) }
  }

  /// See ``AuditStore``.
  package func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) async throws(StoreError) -> AuditPage {
    try await read { reader throws(StoreError) in
      try reader.acts(before: number, subject: subject, countMax: countMax)
    }
  }

  // MARK: - Operations

  /// See ``OperationStore``.
  package func beginOperation(_ operation: Operation) async throws(StoreError) -> Int64 {
    try await write { writer throws(StoreError) in try writer.beginOperation(operation) }
  }

  /// See ``OperationStore``.
  package func noteOperation(_ operation: Operation) async throws(StoreError) {
    try await write { writer throws(StoreError) in try writer.noteOperation(operation) }
  }

  /// See ``OperationStore``.
  package var incarnation: Incarnation { Incarnation(rawValue: process) }

  /// See ``OperationStore``.
  ///
  /// Those that have no seat: it is deleted only for good, by whoever takes the shards over.
  package func endedIncarnations() async throws(StoreError) -> [Incarnation] {
    try await read { reader throws(StoreError) in try reader.endedIncarnations() }
  }

  /// See ``OperationStore``.
  package func interruptOperations(
    of incarnation: Incarnation, at time: WallTime
  ) async throws(StoreError) {
    try await write { writer throws(StoreError) in
      try writer.interruptOperations(of: incarnation, at: time)
    }
  }

  /// See ``OperationStore``.
  package func operations() async throws(StoreError) -> [Operation] {
    try await read { reader throws(StoreError) in try reader.operations() }
  }

  // MARK: - The history

  /// See ``HistoryStore``.
  package func writeHistory(_ rows: [HistoryRow], now: Minute) async throws(StoreError) {
    try await write { writer throws(StoreError) in try writer.writeHistory(rows, now: now) }
  }

  /// See ``HistoryStore``.
  package func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries {
    try await read { reader throws(StoreError) in
      try reader.readHistory(into: series, of: upstream)
    }
  }
}
#endif
