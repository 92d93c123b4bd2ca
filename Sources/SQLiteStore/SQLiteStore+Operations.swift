import RelayCore

extension SQLiteStore {
  /// What `OperationStore` says of `beginOperation`.
  package func beginOperation(_ operation: Operation) async throws(StoreError) -> Int64 {
    try await write("begin an operation") { writer throws(StoreError) in
      try writer.begin(operation)
    }
  }

  /// What `OperationStore` says of `noteOperation`.
  package func noteOperation(_ operation: Operation) async throws(StoreError) {
    try await write("note an operation") { writer throws(StoreError) in
      try writer.note(operation)
    }
  }

  /// What `OperationStore` says of `interruptOperations`.
  package func interruptOperations(at time: WallTime) async throws(StoreError) {
    try await write("interrupt operations") { writer throws(StoreError) in
      try writer.interruptOperations(at: time)
    }
  }

  /// What `OperationStore` says of `operations`.
  package func operations() async throws(StoreError) -> [Operation] {
    try await read { reader throws(StoreError) in try reader.allOperations() }
  }
}
