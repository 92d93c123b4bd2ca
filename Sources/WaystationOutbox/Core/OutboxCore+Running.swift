import RelayCore

extension OutboxCore {
  /// Begins a run: the items of a filter are tried now, and the run is over once each is decided.
  ///
  /// Waits after a failure are cut short, and what is being collected goes at once. The order
  /// within a lane stays.
  func beginRun(_ filter: Filter, at now: Moment) throws(StoreError) -> RunNumber {
    wake()
    // One more shows whether there are more.
    let items = try kept(filter, after: 0, countMax: CoreLimits.runItemsMax + 1)
    var run = Run(
      items.prefix(CoreLimits.runItemsMax).map(\.id),
      isComplete: items.count <= CoreLimits.runItemsMax)
    if case .ids(let ids) = filter {
      let found = Set(items.map(\.id))
      for id in ids.map(\.raw).sorted() where !found.contains(id) {
        run.undecided.insert(id)
        run.skip(id, .ended)
      }
    }
    let number = state.nextRun
    state.nextRun += 1
    state.runs[number] = run
    state.watchPauseMs = CoreLimits.watchPauseMsMin
    return number
  }

  /// Ends a run whose time is over.
  ///
  /// - Returns: Its report; nil if it was over before.
  func endRun(_ number: RunNumber) -> RunReport? {
    state.runs.removeValue(forKey: number)?.report
  }

  /// Somebody wants everything tried now: waits are cut short, and what the app has said of items
  /// is asked again.
  func wake() {
    state.sender.wake()
    state.lingerUntil = nil
    state.preparations = [:]
    state.asksAgain = true
    state.laneWaits = [:]
    state.custody.absent = [:]
    state.signing.wake()
    for lane in state.custody.proofs.keys { state.custody.proofs[lane]?.wake() }
    state.watchPauseMs = CoreLimits.watchPauseMsMin
    state.asksForEnds = true
  }

  /// An item is over, or blocked.
  func noteInRuns(_ item: Int64, _ outcome: Outcome) {
    for number in state.runs.keys.sorted() { state.runs[number]?.decide(item, outcome) }
  }

  /// Nobody can be reached: what the relay does not have does not go in these runs.
  func noteUnreachable() {
    for number in state.runs.keys.sorted() {
      for item in (state.runs[number]?.undecided ?? []).sorted() {
        guard let kept = try? file.item(item), !kept.isHanded else { continue }
        state.runs[number]?.skip(item, .unreachable)
      }
    }
  }

  /// An attempt of an item has failed; it is tried again by itself.
  func noteUndelivered(_ item: Int64) {
    for number in state.runs.keys.sorted() {
      state.runs[number]?.skip(item, .unreachable)
    }
  }

  /// Decides what does not go, and ends the runs that are decided.
  func decideRuns(at now: Moment) throws(StoreError) {
    guard !state.runs.isEmpty else { return }
    // As long as something is under way, more may follow.
    let isDecided =
      state.exchanges.isEmpty && state.preparing == nil && !state.signing.isAsking
    if isDecided { try skipWhatStands(at: now) }
    for number in state.runs.keys.sorted() where state.runs[number]?.undecided.isEmpty == true {
      if let run = state.runs.removeValue(forKey: number) { want(.finishRun(number, run.report)) }
    }
  }

  private func skipWhatStands(at now: Moment) throws(StoreError) {
    var undecided: Set<Int64> = []
    for run in state.runs.values { undecided.formUnion(run.undecided) }
    /// The item behind which each strict lane stands, found once.
    var fronts: [LaneNumber: (item: KeptItem, reason: SkipReason)?] = [:]
    for id in undecided.sorted() {
      guard let item = try file.item(id) else {
        skip(id, .ended)
        continue
      }
      if item.isHanded, !item.state.needsAttention {
        // Nothing goes at the relay behind what was refused there.
        if try isBehindBlocker(item) { skip(id, .laneBlocked) }
        continue
      }
      if let reason = try skipReason(of: item, &fronts, at: now) {
        skip(id, reason)
        tell(.skipped(Item.ID(raw: id), reason))
      }
    }
  }

  private func isBehindBlocker(_ item: KeptItem) throws(StoreError) -> Bool {
    guard state.attention > 0, settings(of: item.lane).order == .strict,
      let blocker = try file.blocker(of: item.lane)
    else { return false }
    return blocker.refuser == .upstreamAtRelay && blocker.id < item.id
  }

  private func skip(_ item: Int64, _ reason: SkipReason) {
    for number in state.runs.keys.sorted() { state.runs[number]?.skip(item, reason) }
  }

  /// Why an item does not go in this run; nil if it may yet.
  private func skipReason(
    of item: KeptItem, _ fronts: inout [LaneNumber: (item: KeptItem, reason: SkipReason)?],
    at now: Moment
  ) throws(StoreError) -> SkipReason? {
    if state.isPaused || state.lanes[item.lane]?.isPaused == true { return .paused }
    let onConstrained = settings.sending.onConstrainedNetworks
    if !state.sender.maySend(at: now.monotonicMs, onConstrained: onConstrained) {
      return .unreachable
    }
    if case .skipped(_, let reason)? = state.preparations[item.id] { return reason }
    if let own = try reason(of: item, at: now) { return own }
    if try waitsForSigner(item, at: now) { return .unsigned }
    guard settings(of: item.lane).order == .strict else { return nil }
    if fronts[item.lane] == nil { fronts[item.lane] = .some(try front(of: item.lane, at: now)) }
    guard let front = fronts[item.lane] ?? nil, front.item.id < item.id else {
      return state.laneWaits[item.lane] != nil ? .unreachable : nil
    }
    return front.item.state.needsAttention ? .laneBlocked : .behind(Item.ID(raw: front.item.id))
  }

  /// The first item of a lane that does not go, and why.
  private func front(
    of lane: LaneNumber, at now: Moment
  ) throws(StoreError) -> (item: KeptItem, reason: SkipReason)? {
    var after: Int64 = 0
    while true {
      let items = try file.line(of: lane, after: after, countMax: CoreLimits.lookedAtPerLane)
      guard let last = items.last else { return nil }
      after = last.id
      for item in items {
        guard let reason = try reason(of: item, at: now) else { continue }
        if item.state.needsAttention, onRefusal(of: item) == .skip { continue }
        return (item, reason)
      }
    }
  }

  // MARK: - Those who wait

  /// Somebody waits for what becomes of an item.
  func watch(_ item: Item.ID) {
    state.watchers[item.raw, default: 0] += 1
    state.watchPauseMs = CoreLimits.watchPauseMsMin
  }

  /// Somebody waits no more.
  func unwatch(_ item: Item.ID) {
    guard let count = state.watchers[item.raw] else { return }
    state.watchers[item.raw] = count > 1 ? count - 1 : nil
  }

  // MARK: - What the app says

  /// Takes what the app has said of an item.
  func take(
    _ said: Prepared, of id: Item.ID, at now: Moment
  ) throws(StoreError) {
    try endPreparing()
    guard let item = try file.item(id.raw), item.state == .waiting else {
      if case .request(_, let body) = said, let name = body.fileName { want(.removeFile(name)) }
      return
    }
    // What was asked before the outbox was woken says nothing of now.
    if state.asksAgain, said.isNotYet { return }
    func due(_ afterMs: Int64?) -> Int64? { afterMs.map { now.monotonicMs + max(1, $0) } }
    switch said {
    case .ready: state.preparations[item.id] = .ready
    case .notReady(let afterMs):
      state.preparations[item.id] = .skipped(until: due(afterMs), .notReady)
      tell(.skipped(id, .notReady))
    case .noHandler(let tag):
      state.preparations[item.id] = .skipped(until: nil, .noHandler(Tag(tag)))
      tell(.skipped(id, .noHandler(Tag(tag))))
    case .request(let request, let body):
      // It may have been edited meanwhile.
      guard item.commandVersion != nil else {
        if let name = body.fileName { want(.removeFile(name)) }
        return
      }
      var made = item
      made.commandVersion = nil
      made.bodyKind = body.kind
      made.bodyBytes = body.byteCount
      made.bytes = max(0, item.bytes - item.bodyBytes) + body.byteCount
      try file.replace(item.id, request, body)
      try file.made(made)
      change(item.lane) { $0.bytes += made.bytes - item.bytes }
      state.preparations[item.id] = .ready
    case .drop(let reason):
      try end(item, .cancelled, error: RecordedError(id: "dropped", message: reason))
    case .failed(let error): try block(item, by: .app, error)
    }
  }
}

/// What the app has said of an item.
enum Prepared: Sendable {
  /// It may go.
  case ready
  /// It is passed over; asked again after so long, nil for when woken.
  case notReady(afterMs: Int64?)
  /// Nobody makes requests of commands of this tag.
  case noHandler(String)
  /// A command has become this request.
  case request(KeptRequest, NewBody)
  /// A command is given up.
  case drop(reason: String)
  /// It waits for somebody.
  case failed(RecordedError)

  /// Whether it may be said otherwise once something has changed.
  var isNotYet: Bool {
    switch self {
    case .notReady, .noHandler: true
    case .ready, .request, .drop, .failed: false
    }
  }
}
