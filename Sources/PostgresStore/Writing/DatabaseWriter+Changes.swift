#if PostgreSQL
import Postgres
import RelayCore
import Synchronization

// Changes of envelopes, and what is forgotten of them.
extension DatabaseWriter {
  /// Makes changes, and tells of them.
  func record(_ transitions: [Transition]) throws(StoreError) {
    guard !transitions.isEmpty else { return }
    var tables = try tables(Set(transitions.map(\.serial)))
    var made = transitions
    var ends: [EndChange] = []
    var events: [EventEntry] = []
    for index in made.indices {
      guard let plan = try ChangeRules.plan(made[index], facts: tables) else {
        made[index].isMoot = true
        continue
      }
      if case .requeue(let end) = plan.line, case .requeue(let entry) = made[index].change {
        ends.append(EndChange(of: entry, end, .gone))
      }
      if let event = plan.event { events.append(event) }
      if case .retry = plan.line { given.latestTime = max(given.latestTime, made[index].at) }
      tables.carryOut(plan, of: made[index], ending: ending(of: plan))
      if plan.isParkedAgain { made[index].noteParked() }
    }
    var commit = Commit()
    commit.changes.append(.changed(made))
    if !ends.isEmpty { commit.changes.append(.endsChanged(ends)) }
    try write(tables, changeCount: made.count, logging: events, in: &commit)
    tell(commit)
  }

  /// Corrects an envelope that has ended.
  ///
  /// - Returns: false if it may not be corrected.
  func correctEnded(_ edit: EnvelopeEdit) throws(StoreError) -> Bool {
    let serial = edit.entry.serial
    var tables = try tables([serial])
    guard let former = tables.ending(of: serial), ChangeRules.mayCorrect(former.stored) else {
      return false
    }
    var commit = Commit()
    if former.upstream != edit.entry.upstream {
      let change = former.change(.redirected(to: edit.entry.upstream))
      commit.changes.append(.endsChanged([change]))
    }
    tables.apply(edit)
    try write(tables, logging: [EventEntry(editedEnded: edit.entry)], in: &commit)
    tell(commit)
    return true
  }

  /// Cancels an envelope that has ended.
  ///
  /// - Returns: false if it may not be cancelled.
  func cancelEnded(_ entry: LineEntry, reason: String) throws(StoreError) -> Bool {
    let serial = entry.serial
    var tables = try tables([serial])
    switch ChangeRules.cancellation(of: tables.end(of: serial)) {
    case .refuse: return false
    case .leave: return true
    case .replace:
      guard let former = tables.ending(of: serial) else { return false }
      tables.cancelEnded(
        serial, reason: reason, at: shared.clock(), ending: numberEnding(of: former.client))
      var commit = Commit()
      commit.changes.append(.endsChanged([former.change(.cancelled)]))
      let event = EventEntry(cancelledEnded: entry, reason: reason)
      try write(tables, logging: [event], in: &commit)
      tell(commit)
      return true
    }
  }

  /// Cancels what waits of a client, as far as it is selected.
  ///
  /// - Parameter serial: The number up to which; nil for all that was accepted before the call.
  func cancelAll(
    of selection: BacklogSelection, through serial: Serial?, reason: String
  ) throws(StoreError) -> ClearingReport {
    let client = selection.client
    let through = serial ?? given.lastSerial
    var report = ClearingReport(count: 0, changingCount: 0, scannedThrough: through)
    let items = try backlog(of: selection, through: through)
    guard !items.isEmpty else { return report }
    let (backlog, changingCount) = ChangeRules.clearing(
      of: client, items, besides: observer.reserveAll(of: client))
    do throws(StoreError) {
      try cancel(backlog, reason: reason)
    } catch {
      var reservations = Reservations()
      reservations.clients = [client]
      observer.released(reservations)
      throw error
    }
    (report.count, report.changingCount) = (backlog.items.count, changingCount)
    return report
  }

  private func cancel(_ backlog: ClearedBacklog, reason: String) throws(StoreError) {
    var tables = try tables(Set(backlog.items.map(\.serial)))
    let now = shared.clock()
    var events: [EventEntry] = []
    for item in backlog.items {
      let transition = Transition(
        serial: item.serial, lane: item.lane, upstream: item.upstream,
        change: .end(.cancelled, reason: reason), at: now, epoch: seat.epoch)
      guard let plan = try ChangeRules.plan(transition, facts: tables) else { continue }
      tables.carryOut(plan, of: transition, ending: ending(of: plan))
      if let event = plan.event { events.append(event) }
    }
    var commit = Commit()
    commit.changes.append(.cleared(backlog))
    try write(tables, logging: events, in: &commit)
    tell(commit)
  }

  private func ending(of plan: ChangePlan) -> EndingNumber? {
    if case .end = plan.line { numberEnding(of: plan.client) } else { nil }
  }

  /// What of a client's backlog is selected, and was accepted under a number up to this one.
  private func backlog(
    of selection: BacklogSelection, through serial: Serial
  ) throws(StoreError) -> [ClearedBacklog.Item] {
    let rows = try read([
      PostgresCommand(
        """
        SELECT line.serial, line.lane, line.upstream, line.standing, line.accepted_at
        FROM line LEFT JOIN moved ON moved.new = line.serial
        WHERE line.client = $1 AND coalesce(moved.old, line.serial) <= $2
          AND ($3::text IS NULL
            OR line.lane = (SELECT number FROM lane WHERE client = $1 AND name = $3))
          AND ($4::text IS NULL
            OR (SELECT tag FROM envelope WHERE envelope.serial = line.serial) = $4)
        ORDER BY line.serial
        """,
        [
          .int64(selection.client.rawValue), .int64(serial), .text(selection.lane),
          .text(selection.tag),
        ])
    ])[0]
    var items: [ClearedBacklog.Item] = []
    for row in 0..<rows.count {
      let standing = try Standing(stored: rows.int16(row, 3))
      items.append(
        ClearedBacklog.Item(
          serial: rows.int64(row, 0), lane: LaneNumber(rawValue: rows.int64(row, 1)),
          upstream: UpstreamNumber(rawValue: rows.int32(row, 2)),
          parkedSince: standing == .parked
            ? WallTime(millisecondsSinceEpoch: rows.int64(row, 4)) : nil))
    }
    return items
  }

  private func tables(_ serials: Set<Serial>) throws(StoreError) -> ChangeTables {
    try ChangeTables(try read(ChangeTables.commands(serials.sorted())))
  }

  private func write(
    _ tables: ChangeTables, changeCount: Int = 0, logging events: [EventEntry],
    in commit: inout Commit
  ) throws(StoreError) {
    try write(
      tables.commands, shards: tables.shards, changeCount: changeCount, logging: events,
      in: &commit, counting: tables.count)
    commit.use = tables.use
    let latest = given.latestTime
    shared.figures.withLock { $0.given.latestTime = latest }
  }

  // MARK: - Retention

  /// Forgets keys, and then deletes what has ended and was kept long enough; each call goes on
  /// where the last one stopped.
  ///
  /// - Parameter countMax: The most ended envelopes to look at.
  func deleteEnded(
    _ retention: RetentionCutoffs, countMax: Int
  ) throws(StoreError) -> RetentionPage {
    let forgottenCount = try forgetKeys(before: retention.keys, countMax: countMax)
    var page = RetentionPage(deletedCount: 0, isRoundDone: false)
    page.forgottenKeyCount = forgottenCount
    guard forgottenCount < countMax else { return page }
    let rows = try read([
      PostgresCommand(
        sql: """
          SELECT \(EndedRow.columns), sequence, placed_through, \(Self.isReferable) FROM ended
          JOIN envelope ON envelope.serial = ended.serial JOIN lane ON lane.number = ended.lane
          WHERE ended.serial > $1 ORDER BY ended.serial LIMIT $2
          """, [.int64(retentionCursor), .int64(Int64(countMax))])
    ])[0]
    var due: [(end: EndedRow, forgetsNumber: Bool)] = []
    for row in 0..<rows.count {
      let end = try EndedRow(rows, row)
      guard RetentionRules.isDue(end.state, endedAt: end.endedAt, retention),
        !rows.bool(row, EndedRow.columnCount + 2)
      else { continue }
      let number = rows.int64OrNil(row, EndedRow.columnCount)
      let placed = rows.int64OrNil(row, EndedRow.columnCount + 1)
      due.append(
        (end, number.map { RetentionRules.forgetsNumber($0, placedThrough: placed) } ?? false))
    }
    if !due.isEmpty { try delete(due, retention) }
    page.deletedCount = due.count
    page.isRoundDone = rows.count < countMax
    retentionCursor = page.isRoundDone ? 0 : rows.int64(rows.count - 1, 0)
    if page.isRoundDone || !due.isEmpty { shared.bodies.sweep() }
    return page
  }

  /// Whether something waits that may refer to an ended envelope: behind it in its lane, or parked.
  private static let isReferable = """
    (EXISTS (
      SELECT 1 FROM line WHERE line.refers AND line.lane = ended.lane
        AND (line.serial > ended.serial OR line.standing = \(Standing.parked.rawValue))
    ) AND (key IS NOT NULL
      OR EXISTS (SELECT 1 FROM former_key WHERE former_key.serial = ended.serial)))
    """

  private func delete(
    _ due: [(end: EndedRow, forgetsNumber: Bool)], _ retention: RetentionCutoffs
  ) throws(StoreError) {
    let serials = PostgresValue.int64s(due.map(\.end.serial))
    var counts: [PostgresRows.LaneState: Int64] = [:]
    for (end, _) in due {
      counts[PostgresRows.LaneState(lane: end.lane, state: end.state), default: 0] -= 1
    }
    let remembered = due.map(\.end).filter {
      RetentionRules.remembersKeys($0.state, endedAt: $0.endedAt, retention)
    }
    let keys: [PostgresCommand] =
      remembered.isEmpty
      ? [] : [.rememberKeys(of: remembered.map(\.serial)), .keepRelaysAway(below: 6)]
    let commands =
      keys
      + PostgresCommand.forget(
        serials, numbersOf: .int64s(due.filter(\.forgetsNumber).map(\.end.serial)),
        at: shared.clock()) + [
        .noteEnds(counts.map { ($0.key.lane, $0.key.state, $0.value) }), .addUpEnds,
      ]
    try write(commands, shards: Set(due.map { Int($0.end.shard) })) { counts in
      for (end, _) in due {
        counts.ended[end.state, default: 0] -= 1
        counts.contentBytes -= end.bytes
      }
    }
    if !remembered.isEmpty { remembersKeys = true }
    var commit = Commit()
    let ends = due.map(\.end).filter { $0.state != .delivered }.map { $0.change(.gone) }
    if !ends.isEmpty { commit.changes.append(.endsChanged(ends)) }
    tell(commit)
  }
}

extension PostgresRows {
  /// A lane and a way to end.
  struct LaneState: Hashable {
    let lane: LaneNumber
    let state: EnvelopeState
  }
}

extension PostgresCommand {
  /// Deletes envelopes that have ended, with all that names them.
  ///
  /// - Parameter numbersOf: Those of which the lane forgets the number as well.
  static func forget(
    _ serials: PostgresValue, numbersOf forgotten: PostgresValue, at time: WallTime
  ) -> [PostgresCommand] {
    let names = [
      closeEntries(of: serials, at: time),
      PostgresCommand(
        """
        DELETE FROM sequence_index AS taken USING envelope
        WHERE envelope.serial = ANY($1) AND taken.lane = envelope.lane
          AND taken.number = envelope.sequence
        """, [forgotten]),
      PostgresCommand(
        """
        DELETE FROM key_index USING former_key AS former
        WHERE former.serial = ANY($1) AND key_index.client = former.client
          AND key_index.key = former.key
        """, [serials]),
      PostgresCommand(
        """
        DELETE FROM key_index USING envelope
        WHERE envelope.serial = ANY($1) AND key_index.client = envelope.client
          AND key_index.key = envelope.key
        """, [serials]),
      PostgresCommand(
        """
        DELETE FROM name_index USING envelope
        WHERE envelope.serial = ANY($1) AND name_index.lane = envelope.lane
          AND name_index.name = envelope.coalesce AND name_index.serial = envelope.serial
        """, [serials]),
      PostgresCommand(
        """
        DELETE FROM ending USING ended
        WHERE ended.serial = ANY($1) AND ending.client = ended.client
          AND ending.number = ended.ending
        """, [serials]),
      PostgresCommand("DELETE FROM moved WHERE new = ANY($1)", [serials]),
      .dropBodies(of: serials),
    ]
    let tables = ["former_key", "attempt", "response", "ended", "envelope"]
    return names
      + tables.map {
        PostgresCommand(sql: "DELETE FROM \($0) WHERE serial = ANY($1)", [serials])
      }
  }

  /// Adds up in lanes' rows what stands in the log of ends.
  static let addUpEnds = PostgresCommand(
    """
    WITH gone AS (DELETE FROM ended_log RETURNING lanes, states, changes),
    sums AS (
      SELECT lane, sum(change) FILTER (WHERE state = 1) AS delivered,
        sum(change) FILTER (WHERE state = 2) AS failed,
        sum(change) FILTER (WHERE state = 3) AS expired,
        sum(change) FILTER (WHERE state = 4) AS cancelled
      FROM gone, unnest(lanes, states, changes) AS one(lane, state, change) GROUP BY lane
    )
    UPDATE lane SET delivered = lane.delivered + coalesce(sums.delivered, 0),
      failed = lane.failed + coalesce(sums.failed, 0),
      expired = lane.expired + coalesce(sums.expired, 0),
      cancelled = lane.cancelled + coalesce(sums.cancelled, 0)
    FROM sums WHERE lane.number = sums.lane
    """)
}
#endif
