#if PostgreSQL
import EventLoop
import Postgres
import RelayCore
import Synchronization

/// Writes everything; used by its thread alone.
///
/// Each turn writes the changes that wait, and then the requests in their order, posts together.
/// Facts are read before each transaction: nobody else writes for these clients.
final class DatabaseWriter {
  let seat: Seat
  let shared: DatabaseShared
  let observer: any StoreObserver
  var random = SystemRandomNumberGenerator()
  var upstreams: [String: UpstreamNumber]
  /// The numbers that have been given out.
  var given: GivenNumbers
  /// How many envelopes there are, as far as it is committed.
  private var counts: StoreCounts
  /// Up to where numbers are set apart for this store.
  var setApart: GivenNumbers
  /// Lanes in which something that was parked may be put in line.
  var flowing: Set<LaneNumber>
  /// Up to where retention has looked in its present round.
  var retentionCursor: Serial = 0
  /// Whether there may be keys that are remembered longer than their envelopes.
  var remembersKeys: Bool
  /// The log of events, as far as it is committed.
  var eventLog: EventLog
  /// The store's identity in receipts.
  let receiptOrigin: [UInt8]
  /// The clients whose endings are kept to be told.
  var checkingIn: Set<ClientNumber>
  /// Lanes that were used lately.
  ///
  /// Nobody else makes or forgets names. Their sequence numbers are as old as the entry, and nobody
  /// goes by these.
  var knownNames: GenerationCache<LaneName, KnownLane>
  /// When the database answered last.
  private var answeredAt: MonotonicTime?
  /// Which of the names that may be forgotten have not been used since they were looked for.
  var nameWatch: NameWatch?
  /// Changes that the database has refused, and when they are tried again.
  private var refused: [Transition] = []
  private var retriesAt: MonotonicTime?
  private var trouble: DatabaseTrouble
  /// Whether another relay has taken the store.
  private var isTaken = false

  init(
    _ seat: Seat, _ start: StoreStart, _ shared: DatabaseShared, _ observer: any StoreObserver
  ) {
    self.seat = seat
    (given, setApart) = (start.given, start.setApart)
    counts = start.figures.counts
    (flowing, upstreams) = (start.parkedLanes, start.upstreams)
    (eventLog, checkingIn) = (start.eventLog, start.checkingIn)
    receiptOrigin = start.receiptOrigin
    remembersKeys = start.remembersKeys
    trouble = DatabaseTrouble(shared.limits)
    knownNames = GenerationCache(countMax: shared.limits.namesKnownMax)
    self.shared = shared
    self.observer = observer
    seat.isGivenUp = { shared.hasGivenUp }
  }

  var limits: DatabaseLimits { shared.limits }

  /// Works until the store is closed and all work is done.
  func run() {
    while let work = next() {
      change(work.transitions)
      answer(work.requests)
      flow()
      lookIfDue()
    }
    drop()
  }

  private func next() -> (transitions: [Transition], requests: [DatabaseRequest])? {
    while true {
      // What flows on needs no word from anybody, and after an error it waits as all else does.
      let due = retriesAt ?? (flowing.isEmpty ? trouble.looksAt : MonotonicClock.now())
      let work = shared.inbox.wait(until: due) { inbox -> DatabaseInbox? in
        guard !inbox.isEmpty || inbox.isClosing else { return nil }
        let work = inbox
        inbox.requests = []
        inbox.transitions = []
        return work
      }
      var transitions = refused
      (refused, retriesAt) = ([], nil)
      guard let work else {
        return (transitions, [])
      }
      transitions += work.transitions
      if work.isClosing, work.isEmpty, transitions.isEmpty, flowing.isEmpty { return nil }
      return (transitions, work.requests)
    }
  }

  private func drop() {
    let error = StoreError.closed(operation: "write to")
    let requests = shared.inbox.update { inbox in
      inbox.isClosing = true
      defer { inbox.requests = [] }
      return inbox.requests
    }
    for request in requests { request.fail(error) }
  }

  // MARK: - Turns

  private func change(_ transitions: [Transition]) {
    let held = transitions.filter { $0.epoch == seat.epoch }
    if let other = transitions.last(where: { $0.epoch != seat.epoch }) {
      let refusal = "a change under the lease of epoch \(other.epoch) is refused"
      shared.figures.withLock { $0.refusal = refusal }
    }
    var rest = held[...]
    while !rest.isEmpty {
      change(together: Array(rest.prefix(limits.changesMax)))
      rest = rest.dropFirst(limits.changesMax)
    }
  }

  /// Writes changes in one transaction; one that the database cannot take is found by halving.
  private func change(together transitions: [Transition]) {
    do throws(StoreError) {
      defer { shared.gate.end() }
      try record(transitions)
    } catch {
      guard seat.hasRefusedData else {
        note(trouble: error)
        // Nothing of a shard that is another's is to be written again.
        guard error.kind != .leaseLost, !isClosing else { return }
        refused += transitions
        retriesAt = MonotonicClock.now().adding(milliseconds: limits.retryMs)
        return
      }
      guard transitions.count > 1 else {
        var commit = Commit()
        commit.changes.append(.unwritten(transitions))
        tell(commit)
        return
      }
      let half = transitions.count / 2
      change(together: Array(transitions[..<half]))
      change(together: Array(transitions[half...]))
    }
  }

  private func answer(_ requests: [DatabaseRequest]) {
    var group: [AppendRequest] = []
    var (posts, bytes) = (0, 0)
    func post() {
      if !group.isEmpty { append(together: group) }
      (group, posts, bytes) = ([], 0, 0)
    }
    for request in requests {
      switch request {
      case .append(let append):
        if posts + append.drafts.count > limits.postsMax || bytes > limits.postBytesMax { post() }
        group.append(append)
        posts += append.drafts.count
        bytes += append.byteCount
      case .task(let task):
        post()
        do throws(StoreError) {
          try reach()
          task.run(self)
        } catch {
          task.fail(error)
        }
        shared.gate.end()
      }
    }
    post()
  }

  /// Writes posts in one transaction; those that the database cannot take are found by halving.
  private func append(together group: [AppendRequest]) {
    do throws(StoreError) {
      defer { shared.gate.end() }
      try append(group)
    } catch {
      if group.count > 1, seat.hasRefusedData {
        let half = group.count / 2
        append(together: Array(group[..<half]))
        return append(together: Array(group[half...]))
      }
      note(trouble: error)
      for append in group { append.resume(.failure(error)) }
    }
  }

  private func flow() {
    guard !flowing.isEmpty else { return }
    do throws(StoreError) {
      defer { shared.gate.end() }
      try flowOn()
    } catch {
      note(trouble: error)
      // The next start goes on with what is left.
      if isClosing || isTaken { flowing = [] }
      retriesAt = MonotonicClock.now().adding(milliseconds: limits.retryMs)
    }
  }

  /// Looks whether trouble is over though nobody writes: whoever asks `/readyz` may send no posts
  /// until it is.
  private func lookIfDue() {
    guard trouble.isLookDue(at: MonotonicClock.now()) else { return }
    var known = trouble
    do throws(StoreError) {
      defer { shared.gate.end() }
      try write([.reachTables], shards: [])
      known.noteLook()
      trouble = known
      shared.figures.withLock { $0.trouble = nil }
    } catch {
      note(trouble: error)
    }
  }

  // MARK: - The database

  /// Reads facts for a transaction.
  ///
  /// A lost connection is made anew. If that does not succeed for some time, nobody waits: nothing
  /// has been written, so whoever asks can be told.
  func read(_ commands: [PostgresCommand]) throws(StoreError) -> [PostgresRows] {
    var isFirst = true
    do throws(StoreError) {
      let rows = try seat.read(commands) { error, pauseMs in
        defer { isFirst = false }
        let isWorthIt = isFirst || trouble.isWorthWaiting(at: MonotonicClock.now())
        return isToGoOn(error, pausingMs: isWorthIt ? pauseMs : 0) && isWorthIt
      }
      answeredAt = MonotonicClock.now()
      return rows
    } catch {
      noteIfTaken(error)
      throw error
    }
  }

  /// Finds out whether the database is there, unless it has answered so lately that it has to be.
  ///
  /// Whoever loses it while writing does not know whether anything was written, and nobody can be
  /// told before that is found out.
  func reach() throws(StoreError) {
    if let answeredAt,
      MonotonicClock.now() < answeredAt.adding(milliseconds: limits.answerTrustedMs)
    {
      return
    }
    _ = try read([PostgresCommand("SELECT 1")])
  }

  /// Writes a transaction, and clears the trouble that there was.
  ///
  /// Where numbers run out, it sets more of them apart.
  ///
  /// - Parameters:
  ///   - changeCount: The number of envelopes, and changes of envelopes, in it.
  ///   - counting: How the counts of the store change by it; ``given`` is as it is after it.
  /// - Returns: One result for each command; nil if they were lost, and all is written.
  @discardableResult
  func write(
    _ commands: [PostgresCommand], shards: Set<Int>, changeCount: Int = 0,
    counting: (inout StoreCounts) -> Void = { _ in }
  ) throws(StoreError) -> [PostgresRows]? {
    let begin = MonotonicClock.now()
    let (more, through) = numbersToSetApart()
    var counted = counts
    counting(&counted)
    let rows: [PostgresRows]?
    shared.gate.begin()
    do throws(StoreError) {
      rows = try seat.write(
        commands + more, shards: shards, counts: KeptCounts(counted, given), whileLost: isToGoOn)
    } catch {
      noteIfTaken(error)
      throw error
    }
    (setApart, counts) = (through, counted)
    answeredAt = MonotonicClock.now()
    trouble.noteWritten(isOfEnvelopes: !shards.isEmpty)
    let isTroubleOver = trouble.looksAt == nil
    let durationUs = (MonotonicClock.now().nanoseconds - begin.nanoseconds) / 1000
    shared.figures.withLock { figures in
      if isTroubleOver { figures.trouble = nil }
      figures.counts = counted
      if rows != nil {
        figures.writersSetting = seat.commitSetting
        figures.isWritersSettingNew = true
      }
      figures.commits.note(durationUs: durationUs, changeCount: changeCount)
    }
    return rows
  }

  /// None of the numbers is used again, whatever becomes of this process.
  private func numbersToSetApart() -> (commands: [PostgresCommand], through: GivenNumbers) {
    var through = setApart
    if given.lastSerial > through.lastSerial {
      through.lastSerial = given.lastSerial + limits.serialsAhead
    }
    if given.lastClient > through.lastClient {
      through.lastClient = given.lastClient + limits.namesAhead
    }
    if given.lastLane > through.lastLane {
      through.lastLane = given.lastLane + limits.namesAhead
    }
    if given.lastEnding > through.lastEnding {
      through.lastEnding = given.lastEnding + limits.serialsAhead
    }
    guard through != setApart else { return ([], through) }
    let command = PostgresCommand(
      "UPDATE given SET serial = $1, client = $2, lane = $3, ending = $4",
      [
        .int64(through.lastSerial), .int64(through.lastClient), .int64(through.lastLane),
        .int64(through.lastEnding),
      ])
    return ([command], through)
  }

  /// While the database cannot be reached, nobody waits for it in vain.
  private func isToGoOn(_ error: StoreError, pausingMs: UInt32) -> Bool {
    note(trouble: error)
    failRequests(error)
    // Nor for what was read meanwhile, unless it is only a connection that was lost.
    if trouble.isLost { shared.gate.giveUp() }
    trouble.lose(at: MonotonicClock.now())
    return shared.pause(milliseconds: pausingMs) && !isClosing
  }

  private var isClosing: Bool { shared.inbox.access { $0.isClosing } }

  private func failRequests(_ error: StoreError) {
    let requests = shared.inbox.update { inbox in
      defer { inbox.requests = [] }
      return inbox.requests
    }
    for request in requests { request.fail(error) }
  }

  private func note(trouble error: StoreError) {
    shared.figures.withLock { $0.trouble = error.description }
    trouble.note(error.kind, at: MonotonicClock.now())
  }

  private func noteIfTaken(_ error: StoreError) {
    guard error.kind == .leaseLost, !isTaken else { return }
    isTaken = true
    trouble.noteTaken()
    note(trouble: error)
    observer.leaseLost(error)
  }

  /// Tells of a transaction that is committed.
  ///
  /// - Returns: Where what was put into lanes stands there.
  @discardableResult
  func tell(_ commit: Commit) -> CommitPositions {
    var positions = CommitPositions()
    if !commit.isEmpty { observer.committed(commit) { positions = $0 } }
    return positions
  }
}

extension PostgresCommand {
  /// Changes nothing, and takes the locks of a post and of its outcome: it fails as they would
  /// where somebody has locked a table, or taken the right to write it.
  ///
  /// `LOCK TABLE` takes a transaction that was begun by `BEGIN`
  /// (<https://www.postgresql.org/docs/15/sql-lock.html>).
  fileprivate static let reachTables = PostgresCommand(
    """
    WITH a AS (DELETE FROM client WHERE false), b AS (DELETE FROM lane WHERE false),
      c AS (DELETE FROM name_index WHERE false), d AS (DELETE FROM key_index WHERE false),
      e AS (DELETE FROM sequence_index WHERE false), f AS (DELETE FROM envelope WHERE false),
      g AS (DELETE FROM line WHERE false), h AS (DELETE FROM attempt WHERE false),
      i AS (DELETE FROM ended WHERE false), j AS (DELETE FROM event_log WHERE false)
    UPDATE given SET serial = serial WHERE false
    """)
}
#endif
