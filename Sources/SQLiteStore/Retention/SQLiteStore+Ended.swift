import RelayCore

extension SQLiteStore {
  /// Implements `EnvelopeStore.correctEnded`.
  package func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool {
    let bodies = shared.bodies
    let step = try await write("correct what has ended") { writer throws(StoreError) in
      var files: [String] = []
      let isDone = try writer.correctEnded(edit, into: &files)
      return (isDone: isDone, files: files)
    }
    bodies.delete(step.files)
    return step.isDone
  }

  /// Implements `EnvelopeStore.cancelEnded`.
  package func cancelEnded(
    _ entry: LineEntry, reason: String
  ) async throws(StoreError) -> Bool {
    try await write("cancel what has ended") { writer throws(StoreError) in
      try writer.cancelEnded(entry, reason: reason)
    }
  }
}
