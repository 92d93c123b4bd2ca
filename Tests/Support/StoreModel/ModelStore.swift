import RelayCore
import Synchronization

/// A store in memory: the rules of `RelayCore/Planning` over dictionaries, without disk or threads.
///
/// Each call is a transaction of its own, carried out on the caller's thread. What one of these
/// stores has committed is there for the next one that is opened on the same tables.
package final class ModelStore: PlannedStore {
  /// What stays when a store is closed.
  package final class Disk: Sendable {
    let tables = Mutex(ModelTables())

    /// Starts with empty tables.
    package init() {}
  }

  let disk: Disk
  private let clock: @Sendable () -> WallTime
  private let startPauses: StartPauses
  private let nameLimits: NameLimits
  private let observer = Mutex<(any StoreObserver)?>(nil)
  private let random = Mutex(SplitMix64(seed: 1))
  private let isClosed = Atomic(false)

  /// Opens a store on tables that no other open store uses.
  package init(
    on disk: Disk, clock: @escaping @Sendable () -> WallTime,
    startPauses: StartPauses = StartPauses(), nameLimits: NameLimits = NameLimits()
  ) {
    self.disk = disk
    self.clock = clock
    self.startPauses = startPauses
    self.nameLimits = nameLimits
  }

  /// See ``EnvelopeStore``.
  package func start(observer: any StoreObserver) { self.observer.withLock { $0 = observer } }

  /// See ``EnvelopeStore``.
  package func close() async { isClosed.store(true, ordering: .releasing) }

  // MARK: - Transactions

  /// Changes the tables, and tells the observer of it.
  ///
  /// - Parameter body: Makes the changes, and adds to the commit what it did.
  /// - Returns: What `body` returned, and where what was put into lanes stands there.
  private func transact<Value: Sendable>(
    _ body: (inout ModelTables, inout Commit) throws(StoreError) -> Value
  ) throws(StoreError) -> (Value, CommitPositions) {
    guard !isClosed.load(ordering: .acquiring) else {
      throw StoreError(
        kind: .closed, operation: "write to", subject: "the model", detail: "it is closed")
    }
    let observer = observer.withLock { $0 }
    let result: Result<(Value, CommitPositions), StoreError> = disk.tables.withLock { tables in
      var commit = Commit()
      var changed = tables
      let result = Result { () throws(StoreError) -> Value in try body(&changed, &commit) }
      return result.map { value in
        tables = changed
        var positions = CommitPositions()
        if !commit.isEmpty { observer?.committed(commit) { positions = $0 } }
        return (value, positions)
      }
    }
    return try result.get()
  }

  /// Looks at the tables.
  func look<Value: Sendable>(_ body: (ModelTables) -> Value) throws(StoreError) -> Value {
    guard !isClosed.load(ordering: .acquiring) else {
      throw StoreError(
        kind: .closed, operation: "read", subject: "the model", detail: "it is closed")
    }
    return disk.tables.withLock { body($0) }
  }

  // MARK: - Posts

  /// See ``EnvelopeStore``.
  package func append(
    _ drafts: [EnvelopeDraft], isAtomic: Bool
  ) async throws(StoreError) -> [AppendResult] {
    let observer = observer.withLock { $0 }
    let (results, positions) = try transact { tables, commit throws(StoreError) in
      for draft in drafts { _ = self.number(of: draft.upstream, &tables) }
      var facts = tables.gather(AppendQuestions(of: drafts), self.nameLimits) {
        observer?.reserve($0, in: $1) ?? false
      }
      if isAtomic, let refusal = try AppendRules.refusal(ofAtomic: drafts, facts: facts) {
        return AppendReceipt(results: refusal)
      }
      var receipt = AppendReceipt()
      for draft in drafts {
        let plan = try AppendRules.plan(
          draft, now: self.clock(), random: self.random.withLock { $0.next() }, facts: facts)
        facts.note(plan, of: draft)
        switch plan {
        case .answer: break
        case .replace(let plan): tables.carryOut(plan, of: draft)
        case .insert(let plan):
          tables.carryOut(plan, of: draft)
          self.startPaused(plan, draft, &tables, &commit)
        }
        receipt.note(plan, of: draft)
      }
      for lane in receipt.flowing.sorted() { receipt.note(placed: tables.placeParked(of: lane)) }
      receipt.nameMissing { tables.missing(in: $0) }
      receipt.tell(in: &commit)
      return receipt
    }
    return results.answers(at: positions)
  }

  /// The number of an upstream, given out now if its name is new.
  private func number(of upstream: String, _ tables: inout ModelTables) -> UpstreamNumber {
    if let number = tables.upstreams[upstream] { return number }
    let number = UpstreamNumber(rawValue: Int32(tables.upstreams.count + 1))
    tables.upstreams[upstream] = number
    return number
  }

  private func startPaused(
    _ plan: InsertPlan, _ draft: EnvelopeDraft, _ tables: inout ModelTables,
    _ commit: inout Commit
  ) {
    if plan.isNewClient {
      startPaused(.client(draft.client), .client(plan.entry.client), &tables, &commit)
    }
    if plan.isNewLane {
      let lane = LaneName(client: draft.client, lane: draft.lane)
      startPaused(.lane(lane), .lane(plan.entry.lane), &tables, &commit)
    }
  }

  private func startPaused(
    _ name: PauseName, _ target: PauseTarget, _ tables: inout ModelTables,
    _ commit: inout Commit
  ) {
    guard startPauses.includes(name) else { return }
    tables.pauses.insert(target)
    commit.startedPaused.append(target)
  }

  /// See ``EnvelopeStore``.
  package func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip {
    try transact { tables, commit throws(StoreError) in
      guard let row = tables.lanes[lane], let placed = row.placedThrough else {
        return GapSkip(skipped: [], waitingSince: nil)
      }
      let parked = row.numbers.filter { $0.key > placed }.compactMapValues { serial in
        tables.envelopes[serial].flatMap { $0.end == nil ? $0.entry.acceptedAt : nil }
      }
      let future = now.adding(milliseconds: AppendRules.timeHeldMs)
      let due = parked.filter { $0.value <= time || $0.value > future }.keys.max()
      let waitingSince = parked.filter { $0.key > due ?? placed }.values.min()
      let skipped = due.map { tables.skipGaps(of: lane, below: $0) } ?? []
      if due != nil {
        var receipt = AppendReceipt()
        receipt.note(placed: tables.placeParked(of: lane))
        receipt.tell(in: &commit)
      }
      return GapSkip(skipped: skipped, waitingSince: waitingSince)
    }.0
  }

  // MARK: - Changes

  /// See ``EnvelopeStore``.
  package func record(_ transitions: [Transition]) {
    _ = try? transact { tables, commit throws(StoreError) in
      var made: [Transition] = []
      for var transition in transitions {
        guard transition.epoch == 1 else {
          tables.trouble = "a change under the lease of epoch \(transition.epoch) is refused"
          continue
        }
        if let plan = try ChangeRules.plan(transition, facts: tables) {
          tables.carryOut(plan, of: transition)
          if plan.isParkedAgain { transition.noteParked() }
        } else {
          transition.isMoot = true
        }
        made.append(transition)
      }
      if !made.isEmpty { commit.changes.append(.changed(made)) }
    }
  }

  /// See ``EnvelopeStore``.
  package func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool {
    try transact { tables, _ throws(StoreError) in
      guard ChangeRules.mayCorrect(tables.end(of: edit.entry.serial)) else { return false }
      tables.apply(edit)
      return true
    }.0
  }

  /// See ``EnvelopeStore``.
  package func cancelEnded(_ entry: LineEntry, reason: String) async throws(StoreError) -> Bool {
    try transact { tables, _ throws(StoreError) in
      switch ChangeRules.cancellation(of: tables.end(of: entry.serial)) {
      case .refuse: return false
      case .leave: return true
      case .replace(let end):
        tables.cancelEnded(entry.serial, end, reason: reason, at: self.clock())
        return true
      }
    }.0
  }

  /// See ``EnvelopeStore``.
  package func cancelAll(
    of client: ClientNumber, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport {
    guard let observer = observer.withLock({ $0 }) else { preconditionFailure("not started") }
    return try transact { tables, commit throws(StoreError) in
      let through = serial ?? tables.given.lastSerial
      var report = ClearingReport(count: 0, changingCount: 0, scannedThrough: through)
      let items = tables.line.filter {
        $0.client == client && tables.envelopes[$0.serial]?.id.serial ?? 0 <= through
      }.map {
        ClearedBacklog.Item(
          serial: $0.serial, lane: $0.lane, upstream: $0.upstream,
          isParked: $0.standing == .parked)
      }
      guard !items.isEmpty else { return report }
      let (backlog, changingCount) = ChangeRules.clearing(
        of: client, items, besides: observer.reserveAll(of: client))
      for item in backlog.items {
        let transition = Transition(
          serial: item.serial, lane: item.lane, upstream: item.upstream,
          change: .end(.cancelled, reason: reason), at: self.clock(), epoch: 1)
        guard let plan = try ChangeRules.plan(transition, facts: tables) else { continue }
        tables.carryOut(plan, of: transition)
      }
      commit.changes.append(.cleared(backlog))
      (report.count, report.changingCount) = (backlog.items.count, changingCount)
      return report
    }.0
  }

  /// See ``EnvelopeStore``.
  package func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage {
    try transact { tables, _ throws(StoreError) in
      let ended = tables.ended(behind: tables.retentionCursor).prefix(countMax)
      let due = ended.filter { RetentionRules.isDue($0.state, endedAt: $0.at, retention) }
      for end in due { tables.delete(end.serial) }
      let isRoundDone = ended.count < countMax
      tables.retentionCursor = isRoundDone ? 0 : ended.last?.serial ?? 0
      return RetentionPage(deletedCount: due.count, isRoundDone: isRoundDone)
    }.0
  }

  // MARK: - Names and pauses

  /// See ``EnvelopeStore``.
  package func register(
    upstreams names: [String]
  ) async throws(StoreError) -> [String: UpstreamNumber] {
    try transact { tables, commit throws(StoreError) in
      var numbers: [String: UpstreamNumber] = [:]
      for name in names {
        let number = self.number(of: name, &tables)
        numbers[name] = number
        guard self.startPauses.includes(.upstream(name)),
          tables.startedPaused.insert(number).inserted
        else { continue }
        self.startPaused(.upstream(name), .upstream(number), &tables, &commit)
      }
      return numbers
    }.0
  }

  /// See ``EnvelopeStore``.
  @discardableResult
  package func setPaused(
    _ isPaused: Bool, _ name: PauseName, effect: @escaping @Sendable (PauseTarget) -> Void
  ) async throws(StoreError) -> QuotaRefusal? {
    let result = try transact { tables, commit throws(StoreError) in
      let result = try self.target(of: name, &tables, &commit)
      guard case .success(let target) = result else { return result }
      if isPaused { tables.pauses.insert(target) } else { tables.pauses.remove(target) }
      return result
    }.0
    switch result {
    case .success(let target):
      effect(target)
      return nil
    case .failure(let refusal): return refusal
    }
  }

  private func target(
    of name: PauseName, _ tables: inout ModelTables, _ commit: inout Commit
  ) throws(StoreError) -> Result<PauseTarget, QuotaRefusal> {
    switch name {
    case .upstream(let upstream): return .success(.upstream(number(of: upstream, &tables)))
    case .client(let client):
      let facts = tables.gather(client: client, nameLimits)
      if let refusal = try NameRules.refusal(ofClient: client, facts: facts) {
        return .failure(refusal)
      }
      return .success(.client(know(client, &tables, &commit)))
    case .lane(let lane):
      if let number = tables.laneNumbers[lane] { return .success(.lane(number)) }
      let facts = tables.gather(client: lane.client, nameLimits)
      var planned = NewNames()
      if let refusal = try NameRules.refusal(ofNew: lane, besides: &planned, facts: facts) {
        return .failure(refusal)
      }
      let client = know(lane.client, &tables, &commit)
      let number = tables.given.nextLane
      tables.given.lastLane = number.rawValue
      tables.given.names.lanes += 1
      tables.laneNumbers[lane] = number
      tables.lanes[number] = ModelTables.Lane(name: lane, client: client)
      startPaused(.lane(lane), .lane(number), &tables, &commit)
      return .success(.lane(number))
    }
  }

  private func know(
    _ client: String, _ tables: inout ModelTables, _ commit: inout Commit
  ) -> ClientNumber {
    if let number = tables.clients[client] { return number }
    let number = tables.given.nextClient
    tables.given.lastClient = number.rawValue
    tables.given.names.clients += 1
    tables.clients[client] = number
    startPaused(.client(client), .client(number), &tables, &commit)
    return number
  }
}
