import RelayCore

// What operators keep in the store, beside what senders do: tokens, acts, operations, the history.

extension SQLiteStore {
  /// Implements `AccessStore.tokens`.
  package func tokens(
    after id: String, client: String?, countMax: Int
  ) async throws(StoreError) -> TokenPage {
    try await read { reader throws(StoreError) in
      try reader.tokens.page(after: id, client: client, countMax: countMax)
    }
  }

  /// Implements `AccessStore.insertToken`.
  package func insertToken(_ record: TokenRecord) async throws(StoreError) -> Bool {
    try await write("keep a token") { writer throws(StoreError) in
      try writer.tokens.insert(record)
    }
  }

  /// Implements `AccessStore.renewToken`.
  package func renewToken(
    _ record: TokenRecord, after number: Int64
  ) async throws(StoreError) -> TokenRecord? {
    try await write("renew a token") { writer throws(StoreError) in
      try writer.tokens.renew(record, after: number)
    }
  }

  /// Implements `AccessStore.deleteToken`.
  package func deleteToken(_ id: String) async throws(StoreError) -> Bool {
    try await write("forget a token") { writer throws(StoreError) in
      try writer.tokens.delete(id)
    }
  }

  // MARK: - Acts

  /// Implements `AuditStore.beginAct`.
  package func beginAct(_ act: AuditAct) async throws(StoreError) -> Int64 {
    try await write("write an act down") { writer throws(StoreError) in
      try writer.audit.begin(act, entriesMax: writer.shared.auditEntriesMax)
    }
  }

  /// Implements `AuditStore.endAct`.
  package func endAct(_ number: Int64, _ end: AuditEnd) async throws(StoreError) {
    try await write("write down what became of an act") { writer throws(StoreError) in
      try writer.audit.end(number, end)
    }
  }

  /// Implements `AuditStore.acts`.
  package func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) async throws(StoreError) -> AuditPage {
    try await read { reader throws(StoreError) in
      try reader.audit.acts(before: number, subject: subject, countMax: countMax)
    }
  }

  // MARK: - Operations

  /// Implements `OperationStore.beginOperation`.
  package func beginOperation(_ operation: Operation) async throws(StoreError) -> Int64 {
    try await write("begin an operation") { writer throws(StoreError) in
      try writer.operations.begin(operation)
    }
  }

  /// Implements `OperationStore.noteOperation`.
  package func noteOperation(_ operation: Operation) async throws(StoreError) {
    try await write("note an operation") { writer throws(StoreError) in
      try writer.operations.note(operation)
    }
  }

  /// Implements `OperationStore.incarnation`.
  package var incarnation: Incarnation { .present }

  /// Implements `OperationStore.endedIncarnations`.
  ///
  /// The folder's lock lets in one process at a time: whoever was here before has ended.
  package func endedIncarnations() async throws(StoreError) -> [Incarnation] { [.earlier] }

  /// Implements `OperationStore.interruptOperations`.
  package func interruptOperations(
    of incarnation: Incarnation, at time: WallTime
  ) async throws(StoreError) {
    try await write("interrupt operations") { writer throws(StoreError) in
      try writer.operations.interrupt(of: incarnation, at: time)
    }
  }

  /// Implements `OperationStore.operations`.
  package func operations() async throws(StoreError) -> [Operation] {
    try await read { reader throws(StoreError) in try reader.operations.all() }
  }

  // MARK: - The history

  /// Implements `HistoryStore.writeHistory`.
  package func writeHistory(_ rows: [HistoryRow], now: Minute) async throws(StoreError) {
    try await write("write the history") { writer throws(StoreError) in
      try writer.history.write(rows, now: now)
    }
  }

  /// Implements `HistoryStore.readHistory`.
  package func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries {
    try await read { reader throws(StoreError) in
      try reader.snapshot { () throws(StoreError) in
        try reader.history.read(into: series, of: upstream)
      }
    }
  }
}
