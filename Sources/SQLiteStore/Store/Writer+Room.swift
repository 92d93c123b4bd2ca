import EventLoop
import RelayCore
import SQLite
import Synchronization

extension Writer {
  /// Turns away the appends that wait if there is no room for them; and whatever else somebody
  /// waits for, if it would be written into files that are not in their places any more.
  func refuseRequestsWithoutRoom() {
    guard !requests.isEmpty else { return }
    noteRoom()
    guard let error = recovery.lackOfRoom else { return }
    let isForAll = error.kind == .displaced
    let isLimit = shared.room.isLimitReached(error)
    let uploads = shared.room.uploads
    let isRefused = { (request: WriteRequest) in
      // An upload whose room was claimed takes no more by becoming an envelope.
      isForAll || request.isAppend && !(isLimit && request.isOf(uploads))
    }
    let refused = requests.filter(isRefused)
    requests.removeAll(where: isRefused)
    publish()
    for request in refused { request.fail(error) }
  }

  /// Looks whether the trouble is over though nobody writes.
  ///
  /// Whoever heeds `/readyz` sends nothing until it says that the relay is ready.
  func lookAgain() {
    let now = MonotonicClock.now()
    guard recovery.isLookDue(at: now) else { return }
    recovery.noteLook(at: now)
    let isCopyWanted =
      recovery.hasCheckpointFailed || logBytes > shared.room.limits.logBytesMax
    if isCopyWanted, !logCopying.isThreadBusy { finishCheckpoint() }
    noteRoom()
    if recovery.hasFailed, transitions.isEmpty {
      do throws(StoreError) {
        try begin()
        // The least that there is to be written, on a page that no store can do without.
        try connection.execute("PRAGMA user_version = \(Migration.latest)")
        try commit()
        recovery.noteCommitted(withTransitions: false)
      } catch {
        rollBack()
        recovery.noteFailed(error, at: now)
      }
    }
    if recovery.isRefusing { rehearse(at: now) }
    publish()
  }

  /// A body found no room: there may be none for others either, and then everybody is to know.
  func noteRoomInDoubt() {
    noteRoom()
    publish()
  }

  /// A transaction with outcomes failed; if that was for want of room, there is some set aside.
  func noteTransitionsFailed(_ error: StoreError) {
    let now = MonotonicClock.now()
    recovery.noteTransitionsFailed(error, at: now)
    if error.kind == .diskFull, ballast.release() { recovery.noteRelief(at: now) }
  }

  private func noteRoom() {
    let now = MonotonicClock.now()
    // Whoever was away has all of it looked at before it is taken to be back.
    let displacement =
      recovery.displacement == nil
      ? shared.places.displacement(at: now) : shared.places.displacement()
    let lack = displacement ?? lackOfRoom()
    noteRoom(lack: lack, at: now)
    if lack == nil, !recovery.isTroubled { ballast.hold(room: shared.room) }
  }

  private func noteRoom(lack: StoreError?, at now: MonotonicTime) {
    let before = recovery.displacement
    recovery.noteRoom(lack: lack, at: now)
    guard (before == nil) != (recovery.displacement == nil) else { return }
    shared.observer.withLock { $0 }?.displaced(recovery.displacement)
  }

  private func lackOfRoom() -> StoreError? {
    let room = shared.room
    // What the log holds may have to go into the database file as well, which then grows.
    let left = room.bytesLeft - logBytes
    if logBytes > room.limits.logBytesMax { return room.logLimitReached() }
    do throws(StoreError) {
      if left <= 0, try left + freeBytes() <= 0 { return room.lackOfRoom(operation: "add to") }
      guard let bytesMax = room.limits.storeBytesMax else { return nil }
      let used = try connection.number("PRAGMA page_count") * pageBytes - freeBytes()
      let stored = used + state.ledger.fileBytes
      let isWithin = stored + room.uploads.total < bytesMax
      return isWithin ? nil : room.limitReached(byUploads: stored < bytesMax)
    } catch {
      // The transaction that follows meets the same trouble, and tells it.
      return nil
    }
  }

  /// Bytes in the database file that the next envelopes can take.
  private func freeBytes() throws(StoreError) -> Int64 {
    try connection.number("PRAGMA freelist_count") * pageBytes
  }
}

extension WriteRequest {
  fileprivate var isAppend: Bool {
    if case .append = self { true } else { false }
  }

  /// Whether all that it stores are uploads whose room is claimed.
  fileprivate func isOf(_ uploads: UploadRoom) -> Bool {
    guard case .append(let append) = self else { return false }
    return append.drafts.allSatisfy { draft in
      guard case .file(let file) = draft.content.body else { return false }
      return uploads.holds(BodyFiles.name(of: file))
    }
  }
}

// How the write-ahead log is kept short, as ``LogCopying`` decides. Once the writer has copied the
// rest, the log starts anew at its beginning. It cannot while a reader holds on to what it says; so
// past some more the writer waits for readers, and past its limit new envelopes are refused.
extension Writer {
  /// The bytes of the log that are not known to have been copied.
  var logBytes: Int64 { logCopying.uncopiedPages * pageBytes }

  /// Has the log copied if it has become long.
  func tendLog() {
    // Where there is no room, what the log holds takes some that its end could give back.
    let bytesMax = recovery.lackOfRoom == nil ? shared.room.limits.checkpointBytes : 0
    let isWanted = logCopying.beginPass(
      pagesMax: bytesMax / pageBytes, generation: shared.sync.logGeneration)
    if isWanted { _ = shared.checkpoints.push(()) }
  }

  /// Goes on after a pass.
  func continueCopying(through pages: Int64) {
    switch logCopying.passEnded(through: pages, generation: shared.sync.logGeneration) {
    case .pass: _ = shared.checkpoints.push(())
    case .finish: finishCheckpoint()
    }
  }

  /// Copies what the log still holds, and notes whether that could be done.
  ///
  /// A sync that fails leaves the log as it was: SQLite counts nothing as copied then, and copies,
  /// and so writes, all of it again the next time.
  func finishCheckpoint() {
    let waitBytes = shared.room.limits.checkpointBytes * StoreTuning.logShareToWait
    let isLong = logBytes > waitBytes
    var result = connection.checkpoint()
    if isLong, result.error == nil {
      result = connection.checkpoint(.restart, waitMs: StoreTuning.logWaitMs)
    }
    logCopying.finished(pages: Int64(result.pages), isComplete: result.isComplete)
    recovery.noteCheckpoint(result.error, at: MonotonicClock.now())
    if result.error != nil { publish() }
  }
}

// How the database gives pages back to the disk that nothing stands in any more: in small steps
// with a pause between them, while nothing else is to be written. Some are kept for new envelopes.
extension Writer {
  /// Looks, soon, whether there is something to be given back.
  func considerGivingBack() {
    if giveBackAt == nil { giveBackAt = MonotonicClock.now() }
  }

  /// Does one step, if it is time.
  func giveSpaceBack() {
    let now = MonotonicClock.now()
    guard let giveBackAt, now >= giveBackAt else { return }
    self.giveBackAt = nil
    guard !recovery.hasFailed else { return }
    do throws(StoreError) {
      let surplus = try connection.number("PRAGMA freelist_count") - StoreTuning.freePagesKept
      guard surplus > 0 else { return }
      let count = min(surplus, StoreTuning.freePagesReturnedPerStep)
      try begin()
      try connection.execute("PRAGMA incremental_vacuum(\(count))")
      try commit()
      self.giveBackAt = MonotonicClock.now().adding(
        milliseconds: StoreTuning.freePagesReturnedPauseMs)
    } catch {
      // It was not asked for: the next deletion tries again.
      rollBack()
    }
    tendLog()
  }
}
