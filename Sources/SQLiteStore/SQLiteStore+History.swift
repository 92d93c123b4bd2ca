import RelayCore

extension SQLiteStore {
  /// What `HistoryStore` says of `writeHistory`.
  package func writeHistory(_ rows: [HistoryRow], now: Minute) async throws(StoreError) {
    try await write("write the history") { writer throws(StoreError) in
      try writer.writeHistory(rows, now: now)
    }
  }

  /// What `HistoryStore` says of `readHistory`.
  package func readHistory(
    into series: HistorySeries, of upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries {
    try await read { reader throws(StoreError) in
      try reader.readHistory(into: series, of: upstream)
    }
  }
}
