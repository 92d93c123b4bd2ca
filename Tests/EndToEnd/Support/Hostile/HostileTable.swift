/// Every row, by kind.
enum HostileTable {
  static let kinds: [(name: String, rows: [HostileRow])] = [
    ("request lines", HostileRequestLines.rows),
    ("fields", HostileFields.rows),
    ("lengths and codings", HostileLengths.rows),
    ("chunks", HostileChunks.rows),
    ("JSON", HostileJSON.rows),
    ("envelopes", HostileEnvelopes.rows),
    ("batches", HostileBatches.rows),
    ("calls", HostileCalls.rows),
    ("relayed requests", HostileRelayed.rows),
    ("conversations", HostileConversations.rows),
  ]
}
