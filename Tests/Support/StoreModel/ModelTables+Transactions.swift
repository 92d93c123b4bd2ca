import RelayCore

/// What is configured of a store.
struct ModelRules: Sendable {
  /// What is paused from the moment it is known.
  var startPauses = StartPauses()
  var nameLimits = NameLimits()
  /// The most parked envelopes that one transaction puts in line.
  var placedMax = Int.max
}

/// What a transaction is to write of its posts.
struct PostBatch {
  let drafts: [EnvelopeDraft]
  /// One for each draft; none if an atomic batch is refused.
  var plans: [PostPlan] = []
  /// The answers of an atomic batch that is refused.
  var refusal: [AppendResult]?
}

// Transactions: each asks for plans, carries them out, and adds to the commit what it did. What was
// planned and not carried out is what a crash before the commit loses.
extension ModelTables {
  // MARK: - Posts

  /// Decides what is to be written of some posts, whose upstreams are registered.
  func plan(
    _ drafts: [EnvelopeDraft], isAtomic: Bool, _ rules: ModelRules, now: WallTime,
    random: () -> UInt64, reserve: @escaping @Sendable (Serial, LaneNumber) -> Bool
  ) throws(StoreError) -> PostBatch {
    var batch = PostBatch(drafts: drafts)
    var facts = gather(AppendQuestions(of: drafts), rules.nameLimits, reserve: reserve)
    if isAtomic {
      batch.refusal = try AppendRules.refusal(ofAtomic: drafts, facts: facts)
      guard batch.refusal == nil else { return batch }
    }
    for draft in drafts {
      let plan = try AppendRules.plan(draft, now: now, random: random(), facts: facts)
      facts.note(plan, of: draft)
      batch.plans.append(plan)
    }
    return batch
  }

  /// Writes posts, as they were planned on these very tables.
  mutating func append(
    _ batch: PostBatch, _ rules: ModelRules, in commit: inout Commit
  ) -> AppendReceipt {
    if let refusal = batch.refusal { return AppendReceipt(results: refusal) }
    var receipt = AppendReceipt()
    for (draft, plan) in zip(batch.drafts, batch.plans) {
      switch plan {
      case .answer: break
      case .void(let plan): carryOut(plan, of: draft)
      case .replace(let plan): carryOut(plan, of: draft)
      case .insert(let plan):
        carryOut(plan, of: plan.stored(draft))
        startPaused(plan, draft, rules, in: &commit)
      }
      receipt.note(plan, of: draft)
    }
    receipt.flow(in: &self, countMax: rules.placedMax)
    receipt.nameMissing { missing(in: $0) }
    receipt.tell(in: &commit)
    return receipt
  }

  /// Goes on to put in line what was parked in some lanes.
  ///
  /// - Returns: The lanes in which the next transaction goes on.
  mutating func flow(
    _ lanes: Set<LaneNumber>, _ rules: ModelRules, in commit: inout Commit
  ) -> Set<LaneNumber> {
    var receipt = AppendReceipt(flowing: lanes)
    receipt.flow(in: &self, countMax: rules.placedMax)
    receipt.tell(in: &commit)
    return receipt.flowing
  }

  /// Gives up the missing numbers of a lane, as far as something has been parked for them long
  /// enough; what waits for nothing any more is left to ``flow(_:_:in:)``.
  mutating func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) -> GapSkip {
    guard let row = lanes[lane], let placed = row.placedThrough else {
      return GapSkip(skipped: [], waitingSince: nil)
    }
    let parked = row.numbers.filter { $0.key > placed }
      .compactMapValues { place(of: $0)?.acceptedAt }
    let future = now.adding(milliseconds: AppendRules.timeHeldMs)
    let due = parked.filter { $0.value <= time || $0.value > future }.keys.max()
    let waitingSince = parked.filter { $0.key > due ?? placed }.values.min()
    let skipped = due.map { skipGaps(of: lane, below: $0) } ?? []
    return GapSkip(skipped: skipped, waitingSince: waitingSince)
  }

  // MARK: - Changes

  /// Makes changes, whose leases hold.
  mutating func record(
    _ transitions: [Transition], in commit: inout Commit
  ) throws(StoreError) {
    guard !transitions.isEmpty else { return }
    var made = transitions
    var ends: [EndChange] = []
    for index in made.indices {
      guard let plan = try ChangeRules.plan(made[index], facts: self) else {
        made[index].isMoot = true
        continue
      }
      if case .requeue(let end) = plan.line, case .requeue(let entry) = made[index].change {
        ends.append(EndChange(of: entry, end, .gone))
      }
      carryOut(plan, of: made[index])
      if plan.isParkedAgain { made[index].noteParked() }
    }
    commit.changes.append(.changed(made))
    if !ends.isEmpty { commit.changes.append(.endsChanged(ends)) }
  }

  /// Corrects an envelope that has ended.
  ///
  /// - Returns: false if it may not be corrected.
  mutating func correctEnded(_ edit: EnvelopeEdit, in commit: inout Commit) -> Bool {
    guard let end = end(of: edit.entry.serial), ChangeRules.mayCorrect(end),
      let former = envelopes[edit.entry.serial]?.entry
    else { return false }
    if former.upstream != edit.entry.upstream {
      let change = EndChange(of: former, end, .redirected(to: edit.entry.upstream))
      commit.changes.append(.endsChanged([change]))
    }
    apply(edit)
    return true
  }

  /// Cancels an envelope that has ended.
  ///
  /// - Returns: false if it may not be cancelled.
  mutating func cancelEnded(
    _ entry: LineEntry, reason: String, at now: WallTime, in commit: inout Commit
  ) -> Bool {
    let serial = entry.serial
    switch ChangeRules.cancellation(of: end(of: serial)) {
    case .refuse: return false
    case .leave: return true
    case .replace(let end):
      cancelEnded(serial, end, reason: reason, at: now)
      commit.changes.append(.endsChanged([EndChange(of: entry, end, .cancelled)]))
      return true
    }
  }

  /// What of a client's backlog is selected, and was accepted under a number up to this one.
  func backlog(
    of selection: BacklogSelection, through serial: Serial
  ) -> [ClearedBacklog.Item] {
    line.filter { entry in
      guard entry.client == selection.client, let envelope = envelopes[entry.serial],
        envelope.id.serial <= serial
      else { return false }
      return (selection.lane ?? envelope.draft.lane) == envelope.draft.lane
        && (selection.tag == nil || selection.tag == envelope.draft.tag)
    }.map {
      ClearedBacklog.Item(
        serial: $0.serial, lane: $0.lane, upstream: $0.upstream,
        parkedSince: $0.standing == .parked ? $0.acceptedAt : nil)
    }
  }

  /// Cancels a client's backlog.
  ///
  /// - Returns: How many were cancelled, and how many were left alone since they are changing.
  mutating func cancel(
    _ items: [ClearedBacklog.Item], of client: ClientNumber, besides spared: SparedEnvelopes,
    reason: String, at now: WallTime, in commit: inout Commit
  ) throws(StoreError) -> (count: Int, changingCount: Int) {
    let (backlog, changingCount) = ChangeRules.clearing(of: client, items, besides: spared)
    for item in backlog.items {
      let transition = Transition(
        serial: item.serial, lane: item.lane, upstream: item.upstream,
        change: .end(.cancelled, reason: reason), at: now, epoch: 1)
      guard let plan = try ChangeRules.plan(transition, facts: self) else { continue }
      carryOut(plan, of: transition)
    }
    commit.changes.append(.cleared(backlog))
    return (backlog.items.count, changingCount)
  }

  /// Forgets keys, and then deletes what has ended and was kept long enough; each call goes on
  /// where the last one stopped.
  ///
  /// - Parameter countMax: The most keys to forget, and the most ended envelopes to look at.
  /// - Returns: What was deleted, how many keys were forgotten, and whether the walk came to the
  ///   end.
  mutating func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int, in commit: inout Commit
  ) -> (deleted: [Envelope], forgottenKeyCount: Int, isRoundDone: Bool) {
    let forgottenCount = forgetKeys(before: retention.keys, countMax: countMax)
    guard forgottenCount < countMax else { return ([], forgottenCount, false) }
    let page = Array(ended[ended.firstPlace { $0 > retentionCursor }...].prefix(countMax))
    let due = page.filter { serial in
      envelopes[serial]?.end.map {
        RetentionRules.isDue($0.state, endedAt: $0.at, retention)
      } ?? false
    }
    let isRoundDone = page.count < countMax
    retentionCursor = isRoundDone ? 0 : page.last ?? 0
    let ends = due.compactMap { serial -> EndChange? in
      guard let end = end(of: serial), end.state != .delivered else { return nil }
      return envelopes[serial].map { EndChange(of: $0.entry, end, .gone) }
    }
    if !ends.isEmpty { commit.changes.append(.endsChanged(ends)) }
    for envelope in due.compactMap({ envelopes[$0] }) {
      guard let end = envelope.end,
        RetentionRules.remembersKeys(end.state, endedAt: end.at, retention)
      else { continue }
      rememberKeys(of: envelope)
    }
    return (due.compactMap { delete($0) }, forgottenCount, isRoundDone)
  }

  // MARK: - Names and pauses

  /// The number of an upstream, given out now if its name is new.
  mutating func number(ofUpstream name: String) -> UpstreamNumber {
    if let number = upstreams[name] { return number }
    let number = UpstreamNumber(rawValue: Int32(upstreams.count + 1))
    upstreams[name] = number
    return number
  }

  /// Registers an upstream, which may start paused.
  mutating func register(
    upstream name: String, _ rules: ModelRules, in commit: inout Commit
  ) -> UpstreamNumber {
    let number = number(ofUpstream: name)
    if rules.startPauses.includes(.upstream(name)), startedPaused.insert(number).inserted {
      startPaused(.upstream(name), .upstream(number), rules, in: &commit)
    }
    return number
  }

  /// Pauses or resumes; a name that is not known becomes known, if the limits on names allow it.
  mutating func setPaused(
    _ isPaused: Bool, _ name: PauseName, _ rules: ModelRules, in commit: inout Commit
  ) throws(StoreError) -> Result<PauseTarget, QuotaRefusal> {
    let result = try target(of: name, rules, in: &commit)
    if case .success(let target) = result {
      if isPaused { pauses.insert(target) } else { pauses.remove(target) }
    }
    return result
  }

  private mutating func target(
    of name: PauseName, _ rules: ModelRules, in commit: inout Commit
  ) throws(StoreError) -> Result<PauseTarget, QuotaRefusal> {
    switch name {
    case .upstream(let upstream): return .success(.upstream(number(ofUpstream: upstream)))
    case .client(let client):
      let facts = gather(client: client, rules.nameLimits)
      if let refusal = try NameRules.refusal(ofClient: client, facts: facts) {
        return .failure(refusal)
      }
      return .success(.client(know(client, rules, in: &commit)))
    case .lane(let lane):
      if let number = laneNumbers[lane] { return .success(.lane(number)) }
      let facts = gather(client: lane.client, rules.nameLimits)
      var planned = NewNames()
      if let refusal = try NameRules.refusal(ofNew: lane, besides: &planned, facts: facts) {
        return .failure(refusal)
      }
      let client = know(lane.client, rules, in: &commit)
      let number = given.nextLane
      given.lastLane = number.rawValue
      given.names.lanes += 1
      laneNumbers[lane] = number
      lanes[number] = Lane(name: lane, client: client)
      startPaused(.lane(lane), .lane(number), rules, in: &commit)
      return .success(.lane(number))
    }
  }

  private mutating func know(
    _ client: String, _ rules: ModelRules, in commit: inout Commit
  ) -> ClientNumber {
    if let number = clients[client] { return number }
    let number = given.nextClient
    given.lastClient = number.rawValue
    given.names.clients += 1
    clients[client] = number
    startPaused(.client(client), .client(number), rules, in: &commit)
    return number
  }

  private mutating func startPaused(
    _ plan: InsertPlan, _ draft: EnvelopeDraft, _ rules: ModelRules, in commit: inout Commit
  ) {
    if plan.isNewClient {
      startPaused(.client(draft.client), .client(plan.entry.client), rules, in: &commit)
    }
    if plan.isNewLane {
      let lane = LaneName(client: draft.client, lane: draft.lane)
      startPaused(.lane(lane), .lane(plan.entry.lane), rules, in: &commit)
    }
  }

  private mutating func startPaused(
    _ name: PauseName, _ target: PauseTarget, _ rules: ModelRules, in commit: inout Commit
  ) {
    guard rules.startPauses.includes(name) else { return }
    pauses.insert(target)
    commit.startedPaused.append(target)
  }
}
