import EventLoop
import RelayCore
import Synchronization

extension Writer {
  /// Works until the store is closed and everything that was handed over has been done.
  func run() {
    while let inbox = takeInbox() {
      transitions.append(contentsOf: inbox.transitions)
      requests.append(contentsOf: inbox.requests)
      if let pages = inbox.pagesPassed { continueCopying(through: pages) } else { tendLog() }
      while hasWork(isClosing: inbox.isClosing) { runTransaction(isClosing: inbox.isClosing) }
      if inbox.isClosing { return shared.sync.awaitTold() }
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
      return tendLog()
    }
    shared.sync.awaitRoom()
    do throws(StoreError) {
      let receipt = try attempt(changes, work)
      requests = requests.dropFirst(work.count)
      transitions = transitions.dropFirst(changes.count)
      if !changes.isEmpty || !receipt.isRefused {
        recovery.noteCommitted(withTransitions: !changes.isEmpty)
      }
      notePosts(of: receipt)
      tell(receipt, changes, isReliedOn: !work.isEmpty)
    } catch {
      release()
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
    tendLog()
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
    takeReceiptRules()
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
    swap(&receipt.startedPaused, &state.startedPaused)
    swap(&receipt.endsChanged, &state.endsChanged)
    swap(&receipt.cleared, &state.cleared)
    swap(&receipt.use, &state.use)
    swap(&receipt.hasForgottenClients, &state.hasForgottenClients)
    try seal()
    shared.sync.begin()
    do throws(StoreError) {
      try commitSealed()
    } catch {
      shared.sync.withdraw()
      throw error
    }
    if self.eventsEnd > eventsEnd { receipt.eventsEnd = self.eventsEnd }
    return receipt
  }

  /// Takes note of what the transaction leaves out.
  private func noteDamage(in receipt: inout Receipt) {
    guard let damage = exceptions.lastDamage else { return }
    receipt.unwritten = exceptions.changes
    let goesOnWithoutMore = !exceptions.parts.isSubset(of: state.damage.leftOut)
    state.damage.leftOut.formUnion(exceptions.parts)
    state.damage.unwritten += Int64(exceptions.changes.count)
    state.damage.last = damage.description
    state.unmovable.formUnion(exceptions.unmovable)
    if goesOnWithoutMore { receipt.damage = state.damage }
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

  /// Has the observer, and everybody who waits, told once the transaction is on the disk.
  private func tell(
    _ receipt: Receipt, _ changes: ArraySlice<Transition>, isReliedOn: Bool
  ) {
    for change in changes where change.epoch != Self.epoch {
      recovery.noteRefused(epoch: change.epoch)
    }
    publish()
    for envelope in receipt.coalesced { reservations.envelopes[envelope.entry.serial] = nil }
    for backlog in receipt.cleared { reservations.clients.remove(backlog.client) }
    let transaction = WrittenTransaction(
      receipt: receipt, commit: receipt.commit(of: changes, epoch: Self.epoch),
      changeCount: changes.count + receipt.accepted.count + receipt.coalesced.count,
      isReliedOn: isReliedOn, reservations: reservations, lastEventRow: state.events.lastRow,
      begin: commitBegin)
    reservations = Reservations()
    let hasMoreToDo =
      requests.count > 0 || transitions.count > 0 || shared.inbox.access { !$0.isEmpty }
    shared.sync.handOver(transaction, hasMoreToDo: hasMoreToDo, telling: shared.telling)
  }

  /// The observer of commits; nil before the store is started.
  var observer: (any StoreObserver)? { shared.observer.withLock { $0 } }

  /// The message of the trap for a store without an observer.
  static var unstarted: String { "start(observer:) comes before any other call" }

  /// Lets go of all that was reserved: nothing was changed.
  private func release() {
    guard !reservations.isEmpty else { return }
    observer?.released(reservations)
    reservations = Reservations()
  }
}
