import EventLoop
import RelayCore
import Synchronization

extension Writer {
  /// Works until the store is closed and everything that was handed over has been done.
  func run() {
    while let inbox = takeInbox() {
      transitions.append(contentsOf: inbox.transitions)
      requests.append(contentsOf: inbox.requests)
      tendLog(isCheckpointDue: inbox.isCheckpointDue)
      while hasWork(isClosing: inbox.isClosing) { runTransaction(isClosing: inbox.isClosing) }
      if inbox.isClosing { return }
      // One transaction at a time, so that what has come in meanwhile has its turn.
      if canFlow { runTransaction(isClosing: false) }
      if inbox.isRoomInDoubt { noteRoomInDoubt() }
      lookAgain()
      giveSpaceBack()
      // A slice keeps what was dropped from it for as long as it lives.
      if transitions.isEmpty { transitions = [] }
      requests = []
    }
  }

  private func hasWork(isClosing: Bool) -> Bool {
    if !requests.isEmpty { return true }
    if transitions.isEmpty { return false }
    return isClosing || !recovery.isPausing(at: MonotonicClock.now())
  }

  /// Waits for work, or for the time to try again.
  private func takeInbox() -> WriterInbox? {
    var deadline = transitions.isEmpty ? recovery.lookAt : recovery.retryAt
    if let giveBackAt { deadline = min(deadline ?? giveBackAt, giveBackAt) }
    if canFlow { deadline = MonotonicClock.now() }
    let taken: WriterInbox? = shared.inbox.wait(until: deadline) { inbox in
      guard !inbox.isEmpty || inbox.isClosing else { return nil }
      defer { inbox = WriterInbox(isClosing: inbox.isClosing) }
      return inbox
    }
    return taken ?? WriterInbox()
  }

  /// One transaction, as large as the limits allow, and what follows from it.
  ///
  /// After trouble transitions go first and alone: they take little room, and an append that does
  /// not fit must not keep them out.
  private func runTransaction(isClosing: Bool) {
    refuseRequestsWithoutRoom()
    let isPausing = recovery.isPausing(at: MonotonicClock.now()) && !isClosing
    let countMax =
      recovery.isTroubled
      ? StoreTuning.transitionsPerTransactionInTroubleMax
      : StoreTuning.transitionsPerTransactionMax
    let changes = isPausing ? [] : transitions.prefix(countMax)
    let isAlone = recovery.isTroubled && !changes.isEmpty
    let work = isAlone ? [] : nextRequests()
    guard !changes.isEmpty || !work.isEmpty || canFlow else {
      return tendLog(isCheckpointDue: false)
    }
    do throws(StoreError) {
      let receipt = try attempt(changes, work)
      requests = requests.dropFirst(work.count)
      transitions = transitions.dropFirst(changes.count)
      if !changes.isEmpty || !receipt.isRefused {
        recovery.noteCommitted(withTransitions: !changes.isEmpty)
      }
      notePosts(of: receipt)
      tell(receipt, changes, refusal: work.isEmpty ? nil : displacementBehindCommit())
      releaseReservations(besides: receipt.coalesced)
      releaseClearing(besides: receipt.cleared)
    } catch {
      releaseReservations()
      releaseClearing()
      noteDamage(error)
      requests = requests.dropFirst(work.count)
      if changes.isEmpty {
        recovery.noteFailed(error, at: MonotonicClock.now())
      } else {
        noteTransitionsFailed(error)
        // Who closes does not wait for room: these envelopes still wait, and are sent again.
        if isClosing { transitions = [] }
      }
      publish()
      for request in work { request.fail(error) }
    }
    tendLog(isCheckpointDue: false)
  }

  private func nextRequests() -> ArraySlice<WriteRequest> {
    var rows = 0
    var bytes = 0
    var count = 0
    for request in requests {
      count += 1
      guard case .append(let append) = request else { continue }
      rows += append.drafts.count
      bytes += append.byteCount
      if rows >= StoreTuning.appendsPerTransactionMax { break }
      if bytes >= StoreTuning.appendBytesPerTransactionMax { break }
    }
    return requests.prefix(count)
  }

  /// Runs a transaction; without what meets damage, or is refused by the database, if it has to.
  private func attempt(
    _ changes: ArraySlice<Transition>, _ work: ArraySlice<WriteRequest>
  ) throws(StoreError) -> Receipt {
    exceptions = Exceptions()
    while true {
      do throws(StoreError) {
        return try write(changes, work)
      } catch {
        rollBack()
        guard goRound(error) else { throw error }
      }
    }
  }

  private func write(
    _ changes: ArraySlice<Transition>, _ work: ArraySlice<WriteRequest>
  ) throws(StoreError) -> Receipt {
    var receipt = Receipt()
    let eventsEnd = eventsEnd
    (exceptions.step, exceptions.request) = (nil, nil)
    if !work.isEmpty || canFlow { try prepareSearchBlock() }
    try begin()
    noteDamage(in: &receipt)
    for (index, change) in changes.enumerated() where change.epoch == Self.epoch {
      guard !receipt.unwritten.contains(index) else { continue }
      exceptions.step = .change(index)
      if try !apply(change, into: &receipt) { receipt.moot.insert(index) }
    }
    for (index, request) in work.enumerated() {
      if let error = exceptions.requests[index] {
        receipt.failures.append((request, error))
        continue
      }
      (exceptions.step, exceptions.request) = (.request(index), index)
      try apply(request, into: &receipt)
    }
    (exceptions.step, exceptions.request) = (nil, nil)
    try setApartUnmovable()
    if canFlow { try flow(into: &receipt) }
    try nameMissing(in: &receipt)
    receipt.startedPaused = state.startedPaused
    state.startedPaused = []
    receipt.cleared = takeCleared()
    swap(&receipt.use, &state.use)
    try commit()
    receipt.hasEvents = self.eventsEnd > eventsEnd
    return receipt
  }

  /// Takes note of what the transaction leaves out.
  private func noteDamage(in receipt: inout Receipt) {
    guard let damage = exceptions.lastDamage else { return }
    receipt.unwritten = exceptions.changes
    receipt.goesOnWithoutMore = !exceptions.parts.isSubset(of: state.damage.leftOut)
    state.damage.leftOut.formUnion(exceptions.parts)
    state.damage.unwritten += Int64(exceptions.changes.count)
    state.damage.last = damage.description
    state.unmovable.formUnion(exceptions.unmovable)
  }

  private func apply(_ request: WriteRequest, into receipt: inout Receipt) throws(StoreError) {
    switch request {
    case .append(let append):
      let results = try apply(append, into: &receipt)
      receipt.appends.append((append, results))
    case .task(let task):
      receipt.completions.append(try task.apply(self))
    }
  }

  /// Tells the observer, then everybody who waits.
  ///
  /// What was recorded is told first: then an envelope's position no longer counts one that ended
  /// in the same commit.
  ///
  /// - Parameter refusal: What those who wait are told instead of what came of it: that it stands
  ///   in files that are not in their places any more.
  private func tell(
    _ receipt: Receipt, _ changes: ArraySlice<Transition>, refusal: StoreError?
  ) {
    for change in changes where change.epoch != Self.epoch {
      recovery.noteRefused(epoch: change.epoch)
    }
    publish()
    shared.bodies.delete(receipt.deletedFiles)
    noteCommit(ofChanges: changes.count + receipt.accepted.count + receipt.coalesced.count)
    if receipt.goesOnWithoutMore {
      shared.observer.withLock { $0 }?.goesOnWithout(state.damage)
    }
    var positions: [Int] = []
    var places: [Serial: Int] = [:]
    if !changes.isEmpty || receipt.hasNews {
      guard let observer = shared.observer.withLock({ $0 }) else {
        preconditionFailure("start(observer:) comes before any other call")
      }
      if !receipt.use.isEmpty { observer.useChanged(receipt.use, names: receipt.names) }
      if !receipt.startedPaused.isEmpty { observer.startedPaused(receipt.startedPaused) }
      var recorded = Array(changes)
      for index in receipt.moot { recorded[index].isMoot = true }
      for index in recorded.indices where receipt.parkedAgain.contains(recorded[index].serial) {
        recorded[index].noteParked()
      }
      let unwritten = receipt.unwritten.sorted().map { recorded[$0] }
      for index in receipt.unwritten.sorted(by: >) { recorded.remove(at: index) }
      recorded.removeAll { $0.epoch != Self.epoch }
      if !recorded.isEmpty { observer.recorded(recorded) }
      if !unwritten.isEmpty { observer.unwritten(unwritten) }
      if !receipt.coalesced.isEmpty {
        receipt.note(observer.coalesced(receipt.coalesced), in: &places)
      }
      if !receipt.accepted.isEmpty { positions = observer.accepted(receipt.accepted) }
      // What moved in this very commit may be among them, and is known by its new number only now.
      for backlog in receipt.cleared { observer.cleared(backlog) }
    }
    if receipt.hasEvents { shared.observer.withLock { $0 }?.logged(through: eventsEnd) }
    receipt.resume(positions: positions, places: places, refusal: refusal)
  }
}
