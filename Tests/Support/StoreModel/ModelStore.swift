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
  private let rules: ModelRules
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
    rules = ModelRules(startPauses: startPauses, nameLimits: nameLimits)
  }

  /// See ``EnvelopeStore``.
  package func start(observer: any StoreObserver) { self.observer.withLock { $0 = observer } }

  /// See ``EnvelopeStore``.
  package func leases() -> [ShardLease] {
    (0..<Shard.count).map { ShardLease(shard: $0, epoch: 1) }
  }

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
    let (receipt, positions) = try transact { tables, commit throws(StoreError) in
      for draft in drafts { _ = tables.number(ofUpstream: draft.upstream) }
      let batch = try tables.plan(
        drafts, isAtomic: isAtomic, self.rules, now: self.clock(),
        random: { self.random.withLock { $0.next() } },
        reserve: { observer?.reserve($0, in: $1) ?? false })
      return tables.append(batch, self.rules, in: &commit)
    }
    return receipt.answers(at: positions)
  }

  /// See ``EnvelopeStore``.
  package func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) async throws(StoreError) -> GapSkip {
    try transact { tables, commit throws(StoreError) in
      let skip = tables.skipGaps(of: lane, parkedBy: time, now: now)
      _ = tables.flow([lane], self.rules, in: &commit)
      return skip
    }.0
  }

  // MARK: - Changes

  /// See ``EnvelopeStore``.
  package func record(_ transitions: [Transition]) {
    _ = try? transact { tables, commit throws(StoreError) in
      if let refused = transitions.last(where: { $0.epoch != 1 }) {
        tables.trouble = "a change under the lease of epoch \(refused.epoch) is refused"
      }
      try tables.record(transitions.filter { $0.epoch == 1 }, in: &commit)
    }
  }

  /// See ``EnvelopeStore``.
  package func correctEnded(_ edit: EnvelopeEdit) async throws(StoreError) -> Bool {
    try transact { tables, commit throws(StoreError) in
      tables.correctEnded(edit, in: &commit)
    }.0
  }

  /// See ``EnvelopeStore``.
  package func cancelEnded(_ entry: LineEntry, reason: String) async throws(StoreError) -> Bool {
    try transact { tables, commit throws(StoreError) in
      tables.cancelEnded(entry, reason: reason, at: self.clock(), in: &commit)
    }.0
  }

  /// See ``EnvelopeStore``.
  package func cancelAll(
    of selection: BacklogSelection, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport {
    guard let observer = observer.withLock({ $0 }) else { preconditionFailure("not started") }
    return try transact { tables, commit throws(StoreError) in
      let through = serial ?? tables.given.lastSerial
      var report = ClearingReport(count: 0, changingCount: 0, scannedThrough: through)
      let items = tables.backlog(of: selection, through: through)
      guard !items.isEmpty else { return report }
      (report.count, report.changingCount) = try tables.cancel(
        items, of: selection.client, besides: observer.reserveAll(of: selection.client),
        reason: reason, at: self.clock(), in: &commit)
      return report
    }.0
  }

  /// See ``EnvelopeStore``.
  package func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) async throws(StoreError) -> RetentionPage {
    try transact { tables, commit throws(StoreError) in
      let step = tables.deleteEnded(retention, countMax: countMax, in: &commit)
      var page = RetentionPage(deletedCount: step.deleted.count, isRoundDone: step.isRoundDone)
      page.forgottenKeyCount = step.forgottenKeyCount
      return page
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
        numbers[name] = tables.register(upstream: name, self.rules, in: &commit)
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
      try tables.setPaused(isPaused, name, self.rules, in: &commit)
    }.0
    switch result {
    case .success(let target):
      effect(target)
      return nil
    case .failure(let refusal): return refusal
    }
  }
}
