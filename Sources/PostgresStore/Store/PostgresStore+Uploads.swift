#if PostgreSQL
import RelayCore

// Uploads are written by the thread of bodies, beside the writer: who may write is told by turns
// (``PostgresUploadWriter``). Only that an upload has become an envelope is written with that.
extension PostgresStore {
  /// See ``UploadStore``.
  package func beginUpload(_ upload: Upload) async throws(StoreError) -> Upload {
    let body = StoredBodyFile.freshUUID()
    let stored = try await perform("begin an upload in") { reader throws(StoreError) in
      try reader.begin(upload, body: body)
    }
    guard let stored else {
      throw StoreError(
        kind: .other, operation: "begin", subject: "an upload",
        detail: "another one of its key was forgotten at this moment. Begin it again.")
    }
    return stored
  }

  /// See ``UploadStore``.
  package func upload(_ id: UploadID) async throws(StoreError) -> Upload? {
    try await perform("look up an upload in") { reader throws(StoreError) in
      try reader.upload(id)
    }
  }

  /// See ``UploadStore``.
  package func upload(client: String, key: String) async throws(StoreError) -> Upload? {
    try await perform("look up an upload in") { reader throws(StoreError) in
      try reader.upload(client: client, key: key)
    }
  }

  /// See ``UploadStore``.
  package func remembers(key: String, of client: String) async throws(StoreError) -> Bool {
    try await read { reader throws(StoreError) in try reader.remembers(key: key, of: client) }
  }

  /// See ``UploadStore``.
  package func uploads(
    of client: String?, after id: UploadID?, countMax: Int
  ) async throws(StoreError) -> UploadPage {
    try await read { reader throws(StoreError) in
      try reader.uploads(of: client, after: id, countMax: countMax)
    }
  }

  /// See ``UploadStore``.
  package func openUploads() async throws(StoreError) -> [Upload] {
    try await perform("look up uploads in") { reader throws(StoreError) in
      try reader.openUploads()
    }
  }

  /// See ``UploadStore``.
  package func resumeUpload(_ id: UploadID) async throws(StoreError) -> (any UploadWriter)? {
    if let writer = try await PostgresUploadWriter.resume(id, shared.bodies) { return writer }
    guard try await upload(id)?.envelope == nil else { return nil }
    try await deleteUpload(id)
    return nil
  }

  /// See ``UploadStore``.
  package func settleUpload(_ id: UploadID, as envelope: EnvelopeID) async throws(StoreError) {
    try await perform("settle an upload in") { reader throws(StoreError) in
      try reader.settle(id, as: envelope)
    }
    shared.bodies.sweep()
  }

  /// See ``UploadStore``.
  package func deleteUpload(_ id: UploadID) async throws(StoreError) {
    try await perform("forget an upload in") { reader throws(StoreError) in
      try reader.forget(id)
    }
    shared.bodies.sweep()
  }

  /// See ``UploadStore``.
  package func staleUploads(
    before time: WallTime, countMax: Int
  ) async throws(StoreError) -> [UploadID] {
    try await perform("look up uploads in") { reader throws(StoreError) in
      try reader.staleUploads(before: time, countMax: countMax)
    }
  }

  /// See ``UploadStore``.
  package func forgetUploads(
    _ ids: [UploadID], before time: WallTime
  ) async throws(StoreError) -> [UploadID] {
    let forgotten = try await perform("forget uploads in") { reader throws(StoreError) in
      try reader.forgetUploads(ids, before: time)
    }
    if !forgotten.isEmpty { shared.bodies.sweep() }
    return forgotten
  }

  private func perform<Value: Sendable>(
    _ operation: String, _ body: @escaping @Sendable (DatabaseReader) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await shared.bodies.perform(operation, body)
  }
}
#endif
