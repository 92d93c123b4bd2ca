#if PostgreSQL
import RelayCore

// Receipts of what is accepted.
extension PostgresStore {
  /// See ``ReceiptStore``.
  package func chain(of lane: LaneName) async throws(StoreError) -> StoredChain? {
    try await read { reader throws(StoreError) in try reader.chain(of: lane) }
  }

  /// See ``ReceiptStore``.
  package func receiptGroup(_ number: Int64) async throws(StoreError) -> StoredGroup? {
    try await read { reader throws(StoreError) in try reader.receiptGroup(number) }
  }

  /// See ``ReceiptStore``.
  package func hasReceipts() async throws(StoreError) -> Bool {
    try await read { reader throws(StoreError) in try reader.hasReceipts() }
  }

  /// See ``ReceiptStore``.
  package func ledger(
    of lane: LaneName, _ numbers: ClosedRange<Int64>, countMax: Int
  ) async throws(StoreError) -> LedgerPage? {
    try await read { reader throws(StoreError) in
      try reader.ledger(of: lane, numbers, countMax: countMax)
    }
  }

  /// See ``ReceiptStore``.
  package func forgetReceipts(
    _ retention: ReceiptRetention, countMax: Int
  ) async throws(StoreError) -> Bool {
    try await write { writer throws(StoreError) in
      try writer.forgetReceipts(retention, countMax: countMax)
    }
  }
}
#endif
