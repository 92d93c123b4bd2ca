import RelayCore

extension SQLiteStore {
  /// What `AuditStore` says of `beginAct`.
  package func beginAct(_ act: AuditAct) async throws(StoreError) -> Int64 {
    try await write("write an act down") { writer throws(StoreError) in
      try writer.beginAct(act)
    }
  }

  /// What `AuditStore` says of `endAct`.
  package func endAct(_ number: Int64, _ end: AuditEnd) async throws(StoreError) {
    try await write("write down what became of an act") { writer throws(StoreError) in
      try writer.endAct(number, end)
    }
  }

  /// What `AuditStore` says of `acts`.
  package func acts(
    before number: Int64?, subject: String?, countMax: Int
  ) async throws(StoreError) -> AuditPage {
    try await read { reader throws(StoreError) in
      try reader.acts(before: number, subject: subject, countMax: countMax)
    }
  }
}
