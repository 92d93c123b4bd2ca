#if PostgreSQL
import Postgres
import RelayCore
import Synchronization

// Posts: facts are gathered, plans made, and all of them written in one transaction.
extension DatabaseWriter {
  /// Writes posts, tells of them, and answers.
  ///
  /// - Throws: ``StoreError`` if nothing was written; nobody has been answered then.
  func append(_ group: [AppendRequest]) throws(StoreError) {
    let drafts = group.flatMap(\.drafts)
    try register(upstreamsOf: drafts)
    let reserved = Mutex(Reservations())
    let (facts, waiting) = try gather(AppendQuestions(of: drafts)) { [observer] serial, lane in
      guard observer.reserve(serial, in: lane) else { return false }
      reserved.withLock { $0.envelopes[serial] = lane }
      return true
    }
    do throws(StoreError) {
      try write(group, facts, waiting)
    } catch {
      let reservations = reserved.withLock { $0 }
      if !reservations.isEmpty { observer.released(reservations) }
      throw error
    }
  }

  private func write(
    _ group: [AppendRequest], _ gathered: GatheredFacts, _ waiting: [Serial: WaitingRow]
  ) throws(StoreError) {
    var facts = gathered
    var rows = PostRows()
    var receipt = AppendReceipt()
    var commit = Commit()
    for append in group {
      try plan(append, &facts, &rows, &receipt, in: &commit)
    }
    let before = given
    given = facts.given
    do throws(StoreError) {
      try flow(receipt.flowing.sorted(), &rows, &receipt)
      try write(rows, replaced: waiting, in: &commit)
    } catch {
      given = before
      throw error
    }
    flowing.formUnion(receipt.flowing)
    let missing = try? missing(in: receipt.parkedLanes)
    receipt.nameMissing { missing?[$0] ?? .none }
    receipt.tell(in: &commit)
    answer(group, receipt.answers(at: tell(commit)))
  }

  private func plan(
    _ append: AppendRequest, _ facts: inout GatheredFacts, _ rows: inout PostRows,
    _ receipt: inout AppendReceipt, in commit: inout Commit
  ) throws(StoreError) {
    if append.isAtomic,
      let refusal = try AppendRules.refusal(ofAtomic: append.drafts, facts: facts)
    {
      return receipt.note(refusal: refusal)
    }
    for draft in append.drafts {
      let plan = try AppendRules.plan(
        draft, now: shared.clock(), random: random.next(), facts: facts)
      facts.note(plan, of: draft)
      switch plan {
      case .insert(let plan):
        let entry = plan.entry
        startPaused(
          plan.isNewClient ? entry.client : nil, plan.isNewLane ? entry.lane : nil, draft, &rows,
          in: &commit)
      case .void(let plan):
        startPaused(
          plan.isNewClient ? plan.lane.client : nil, plan.isNewLane ? plan.lane.number : nil,
          draft, &rows, in: &commit)
      case .answer, .replace: break
      }
      rows.take(plan, of: draft)
      receipt.note(plan, of: draft)
    }
  }

  private func answer(_ group: [AppendRequest], _ results: [AppendResult]) {
    var start = 0
    for append in group {
      let end = start + append.drafts.count
      append.resume(.success(Array(results[start..<end])))
      start = end
    }
  }

  /// Pauses what becomes known by a post, if it starts paused.
  private func startPaused(
    _ client: ClientNumber?, _ lane: LaneNumber?, _ draft: EnvelopeDraft, _ rows: inout PostRows,
    in commit: inout Commit
  ) {
    if let client {
      startPaused(.client(draft.client), .client(client), &rows, in: &commit)
    }
    if let lane {
      let name = LaneName(client: draft.client, lane: draft.lane)
      startPaused(.lane(name), .lane(lane), &rows, in: &commit)
    }
  }

  func startPaused(
    _ name: PauseName, _ target: PauseTarget, _ rows: inout PostRows, in commit: inout Commit
  ) {
    guard shared.startsPaused(name) else { return }
    rows.pause(target)
    commit.startedPaused.append(target)
  }

  /// Writes the rows of posts, and what is logged of them.
  ///
  /// - Parameter replaced: The places that replaced envelopes had.
  func write(
    _ rows: PostRows, replaced: [Serial: WaitingRow] = [:], in commit: inout Commit
  ) throws(StoreError) {
    guard !rows.isEmpty else { return }
    let receipts = try receipts(for: rows)
    try write(
      rows.commands + receipts.commands, shards: rows.shards, changeCount: rows.envelopeCount,
      logging: rows.events, in: &commit
    ) { rows.count(&$0, replaced: replaced) }
    rows.count(&commit.use, replaced: replaced)
    let given = given
    shared.figures.withLock { figures in
      figures.given = given
      if let closed = receipts.closed { figures.receipts.note(closed) }
    }
  }

  // MARK: - Upstreams

  private func register(upstreamsOf drafts: [EnvelopeDraft]) throws(StoreError) {
    let new = Set(drafts.lazy.filter { !$0.isVoid }.map(\.upstream))
      .filter { upstreams[$0] == nil }
    guard !new.isEmpty else { return }
    _ = try register(upstreams: new.sorted(), pauses: false)
  }

  /// Gives each name its number.
  ///
  /// - Parameter pauses: Whether those that start paused are paused, if they never were.
  func register(
    upstreams names: [String], pauses: Bool
  ) throws(StoreError) -> [String: UpstreamNumber] {
    let list = PostgresValue.texts(names)
    try write(
      [
        PostgresCommand(
          """
          INSERT INTO upstream (number, name)
          SELECT (SELECT coalesce(max(number), 0) FROM upstream) + row_number() OVER (), new.name
          FROM unnest($1) AS new(name)
          WHERE NOT EXISTS (SELECT 1 FROM upstream WHERE upstream.name = new.name)
          """, [list])
      ], shards: [])
    let rows = try read([
      PostgresCommand(
        "SELECT name, number, started_paused FROM upstream WHERE name = ANY($1)", [list])
    ])[0]
    var numbers: [String: UpstreamNumber] = [:]
    var first: [(String, UpstreamNumber)] = []
    for row in 0..<rows.count {
      let (name, number) = (rows.text(row, 0), UpstreamNumber(rawValue: rows.int32(row, 1)))
      numbers[name] = number
      upstreams[name] = number
      let starts = pauses && shared.startsPaused(.upstream(name))
      if starts, !rows.bool(row, 2) { first.append((name, number)) }
    }
    if !first.isEmpty { try startPaused(first) }
    return numbers
  }

  private func startPaused(_ first: [(name: String, number: UpstreamNumber)]) throws(StoreError) {
    var commit = Commit()
    commit.startedPaused = first.map { .upstream($0.number) }
    let mark = PostgresCommand(
      "UPDATE upstream SET started_paused = true WHERE name = ANY($1)",
      [.texts(first.map(\.name))])
    try write(
      [mark] + commit.startedPaused.map { .pause($0, true) }, shards: [],
      logging: commit.startedPaused.map { EventEntry(isPaused: true, $0) }, in: &commit)
    tell(commit)
  }
}
#endif
