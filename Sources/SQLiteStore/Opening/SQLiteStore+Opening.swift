import EventLoop
import RelayCore
import Synchronization

extension SQLiteStore {
  /// Opens the store in a folder, which is created if it is missing.
  ///
  /// - Throws: ``StoreError`` of kind `inUse`, `newerSchema`, `corrupt`, `diskFull` or
  ///   `inputOutput`, with what to do about it; the store's content is then unchanged.
  package static func open(
    folder: String, options: Options = Options()
  ) throws(StoreError) -> SQLiteStore {
    let data = try DataFolder.claim(folder)
    if let obstacle = try MoveFile.obstacle(to: "open", folder) { throw obstacle }
    var start = try StartCheck(data).prepare(
      pageBytes: options.pageBytes, setsAside: options.setsAsideDamaged)
    let mark = AcknowledgedMark(in: folder)
    if mark == nil { start.add(note: AcknowledgedMark.lack(in: folder)) }
    let room = DiskRoom(folder: folder, limits: options.rules.disk)
    let bodies = try BodyFiles(folder: data.bodies, room: room)
    try bodies.sweep(database: data.database)
    let shared = StoreShared(
      bodies: bodies, room: room, rules: options.rules, start: start)
    bodies.onLackOfRoom { [weak shared] in shared?.inbox.update { $0.isRoomInDoubt = true } }
    let store = SQLiteStore(shared: shared, database: data.database)
    let writer = try Writer(database: data.database, shared: shared, clock: options.clock)
    // The writer has the log open by now, and nothing has been acknowledged yet.
    try shared.places.note(
      database: data.database, lock: FolderLock.file(in: data.path), bodies: data.bodies)
    try DataFolder.sync(folder: folder)
    StoreMarker.write(in: folder)
    shared.sync.note(in: mark)
    do throws(StoreError) {
      try store.startThreads(writer: writer, data: data)
    } catch {
      store.closeQueues()
      throw error
    }
    return store
  }
}

extension SQLiteStore {
  /// Why no relay starts on a folder since a move began or ended there; nil if one does, or it
  /// cannot be told.
  ///
  /// Nothing is changed.
  package static func obstacleByMove(in folder: String) -> StoreError? {
    do throws(StoreError) {
      return try MoveFile.obstacle(to: "open", folder)
    } catch {
      // A file that another user may not read tells nothing.
      return error.kind == .corrupt ? error : nil
    }
  }

  /// Where the store in a folder has been moved to; nil if it was not, or it cannot be told.
  package static func placeMovedTo(from folder: String) -> String? {
    guard let mark = try? MoveFile.read(in: folder), mark.side == .departed else { return nil }
    return mark.place
  }

  /// Implements `EmbeddedStore.rescue`.
  ///
  /// One of the readers' connections does it: they reach the files even if these have no names any
  /// more. Others read and write meanwhile; the log does not start over before it is done.
  package func rescue(to folder: String) async throws(StoreError) -> RescueReport {
    guard !isRescuing.exchange(true, ordering: .acquiringAndReleasing) else {
      throw StoreError(
        kind: .inUse, operation: "write a new store in", subject: folder,
        detail: "another one is being written.")
    }
    defer { isRescuing.store(false, ordering: .releasing) }
    let report = try await read { [shared] reader throws(StoreError) in
      try StoreBackup.rescue(reader.connection, bodies: shared.bodies, to: folder)
    }
    return RescueReport(
      pages: report.pages, bodies: report.bodies, missingBodies: report.missingBodies,
      bytes: report.bytes)
  }
}
