import EventLoop
import RelayCore
import Synchronization

extension Writer {
  /// Turns away the appends that wait if there is no room for them; and whatever else somebody
  /// waits for, if it would be written into files that are not in their places any more.
  func refuseRequestsWithoutRoom() {
    guard !requests.isEmpty else { return }
    noteRoom()
    guard let error = recovery.lackOfRoom else { return }
    let isForAll = error.kind == .displaced
    let refused = requests.filter { isForAll || $0.isAppend }
    requests.removeAll { isForAll || $0.isAppend }
    publish()
    for request in refused { request.fail(error) }
  }

  /// Looks, after a commit and before anybody is told of it, whether what it went into is still in
  /// its place.
  ///
  /// - Returns: What to say instead of that it is stored; nil if it is.
  func displacementBehindCommit() -> StoreError? {
    let now = MonotonicClock.now()
    guard let error = shared.places.displacement(at: now) else { return nil }
    noteRoom(lack: error, at: now)
    return error
  }

  /// Looks whether the trouble is over though nobody writes.
  ///
  /// Whoever heeds `/readyz` sends nothing until it says that the relay is ready.
  func lookAgain() {
    let now = MonotonicClock.now()
    guard recovery.isLookDue(at: now) else { return }
    recovery.noteLook(at: now)
    if recovery.hasCheckpointFailed || logBytes > shared.room.limits.logBytesMax {
      finishCheckpoint()
    }
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
      return used + state.ledger.fileBytes < bytesMax ? nil : room.limitReached()
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
}
