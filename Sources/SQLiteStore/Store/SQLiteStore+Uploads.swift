import RelayCore

extension SQLiteStore {
  /// Implements `UploadStore.beginUpload`.
  package func beginUpload(_ upload: Upload) async throws(StoreError) -> Upload {
    let claim = upload.length ?? 0
    guard files().roomBytes >= claim else {
      throw shared.room.bytesLeft < claim
        ? shared.room.lackOfRoom(operation: "begin an upload")
        : shared.room.limitReached(byUploads: true)
    }
    // The file first: a row without one would be an upload that is lost.
    let file = try await UploadFileWriter.create(in: shared.bodies)
    shared.room.uploads.hold(claim, for: file)
    do throws(StoreError) {
      let isNew = try await write("begin an upload") { writer throws(StoreError) in
        try writer.uploads.insert(upload, file: file)
      }
      if isNew { return upload }
    } catch {
      shared.bodies.delete([file])
      throw error
    }
    shared.bodies.delete([file])
    let key = upload.terms.draft.key ?? ""
    guard let other = try await self.upload(client: upload.client, key: key) else {
      throw StoreError(
        kind: .other, operation: "begin", subject: "an upload",
        detail: "another one of its key was forgotten at this moment. Begin it again.")
    }
    return other
  }

  /// Implements `UploadStore.upload`.
  package func upload(_ id: UploadID) async throws(StoreError) -> Upload? {
    try await read { reader throws(StoreError) in try reader.uploads.find(id)?.upload }
  }

  /// Implements `UploadStore.upload`.
  package func upload(client: String, key: String) async throws(StoreError) -> Upload? {
    try await read { reader throws(StoreError) in
      try reader.uploads.find(client: client, key: key)?.upload
    }
  }

  /// Implements `UploadStore.remembers`.
  package func remembers(key: String, of client: String) async throws(StoreError) -> Bool {
    try await read { reader throws(StoreError) in
      try reader.rememberedKeys.has(key, of: client)
    }
  }

  /// Implements `UploadStore.uploads`.
  package func uploads(
    of client: String?, after id: UploadID?, countMax: Int
  ) async throws(StoreError) -> UploadPage {
    try await read { reader throws(StoreError) in
      try reader.uploads.page(of: client, after: id, countMax: countMax)
    }
  }

  /// Implements `UploadStore.openUploads`.
  package func openUploads() async throws(StoreError) -> [Upload] {
    let all = try await read { reader throws(StoreError) in try reader.uploads.allOpen() }
    var whole: [Upload] = []
    for (upload, file) in all {
      if DataFolder.size(ofFile: "\(shared.bodies.folder)/\(file)") >= upload.offset,
        try await writer(of: upload, file) != nil
      {
        whole.append(upload)
        shared.room.uploads.hold(max(upload.length ?? 0, upload.offset), for: file)
      } else {
        try await deleteUpload(upload.id)
      }
    }
    return whole
  }

  /// Implements `UploadStore.resumeUpload`.
  package func resumeUpload(_ id: UploadID) async throws(StoreError) -> (any UploadWriter)? {
    let found = try await read { reader throws(StoreError) in try reader.uploads.find(id) }
    guard let found, found.upload.envelope == nil else { return nil }
    if let writer = try await writer(of: found.upload, found.file) { return writer }
    try await deleteUpload(id)
    return nil
  }

  private func writer(
    of upload: Upload, _ file: String
  ) async throws(StoreError) -> UploadFileWriter? {
    let id = upload.id
    return try await UploadFileWriter.resume(
      in: shared.bodies, name: file, at: upload.offset
    ) { [weak self] offset, length, time throws(StoreError) in
      guard let self else { throw .closed(operation: "note an upload") }
      let isThere = try await write("note an upload") { writer throws(StoreError) in
        try writer.uploads.note(id, offset: offset, length: length, at: time)
      }
      if isThere { shared.room.uploads.hold(max(length ?? 0, offset), for: file) }
      return isThere
    }
  }

  /// Implements `UploadStore.settleUpload`.
  package func settleUpload(_ id: UploadID, as envelope: EnvelopeID) async throws(StoreError) {
    try await writeAndDelete("settle an upload") { writer, files throws(StoreError) in
      if let file = try writer.uploads.settle(id, as: envelope) { files.append(file) }
    }
  }

  /// Implements `UploadStore.deleteUpload`.
  package func deleteUpload(_ id: UploadID) async throws(StoreError) {
    try await writeAndDelete("forget an upload") { writer, files throws(StoreError) in
      if let file = try writer.uploads.delete(id) { files.append(file) }
    }
  }

  /// Implements `UploadStore.staleUploads`.
  package func staleUploads(
    before time: WallTime, countMax: Int
  ) async throws(StoreError) -> [UploadID] {
    try await read { reader throws(StoreError) in
      try reader.uploads.stale(before: time, countMax: countMax)
    }
  }

  /// Implements `UploadStore.forgetUploads`.
  package func forgetUploads(
    _ ids: [UploadID], before time: WallTime
  ) async throws(StoreError) -> [UploadID] {
    try await writeAndDelete("forget uploads") { writer, files throws(StoreError) in
      try writer.uploads.delete(ids, before: time, into: &files)
    }
  }
}
