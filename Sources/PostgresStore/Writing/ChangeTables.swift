#if PostgreSQL
import Postgres
import RelayCore

/// The rows that the changes of one transaction are about, as they are after each of them.
///
/// They are read before, changed here as the plans say, and what differs then is written.
struct ChangeTables: ChangeFacts {
  private let lineBefore: [Serial: WaitingRow]
  private let endedBefore: [Serial: EndedRow]
  private var line: [Serial: WaitingRow]
  private var ended: [Serial: EndedRow]
  private let aheadOfGap: Set<Serial>
  private var attempts: [(serial: Serial, record: AttemptRecord)] = []
  private var attemptsDropped: [Serial: Int64] = [:]
  private var responses: [Serial: UpstreamResponse] = [:]
  private var responsesDropped: Set<Serial> = []
  private var edits: [Serial: EnvelopeEdit] = [:]
  private var spentHolds: Set<Serial> = []
  private var requeuedUntil: [Serial: WallTime] = [:]
  /// What changes in the counts of a lane's ends.
  private var endCounts: [LaneEnd: Int64] = [:]

  private struct LaneEnd: Hashable {
    let lane: LaneNumber
    let state: EnvelopeState
  }

  // MARK: - Reading

  /// Asks for the rows of these envelopes.
  static func commands(_ serials: [Serial]) -> [PostgresCommand] {
    [
      PostgresCommand(
        sql: "SELECT \(WaitingRow.columns) FROM line WHERE serial = ANY($1)", [.int64s(serials)]),
      PostgresCommand(
        sql: "SELECT \(EndedRow.columns) FROM ended WHERE serial = ANY($1)", [.int64s(serials)]),
      PostgresCommand(
        """
        SELECT envelope.serial FROM envelope JOIN lane ON lane.number = envelope.lane
        WHERE envelope.serial = ANY($1) AND sequence > placed_through
        """, [.int64s(serials)]),
    ]
  }

  /// Reads the answers.
  init(_ rows: [PostgresRows]) throws(StoreError) {
    var line: [Serial: WaitingRow] = [:]
    for row in 0..<rows[0].count {
      let place = try WaitingRow(rows[0], row)
      line[place.entry.serial] = place
    }
    var ended: [Serial: EndedRow] = [:]
    for row in 0..<rows[1].count {
      let end = try EndedRow(rows[1], row)
      ended[end.serial] = end
    }
    (self.line, lineBefore, self.ended, endedBefore) = (line, line, ended, ended)
    aheadOfGap = Set((0..<rows[2].count).map { rows[2].int64($0, 0) })
  }

  func waiting(_ serial: Serial) -> WaitingPlace? {
    line[serial].map {
      WaitingPlace(
        client: $0.entry.client, standing: $0.entry.standing, attempts: $0.attempts,
        isInDoubt: $0.entry.isInDoubt, bytes: $0.bytes)
    }
  }

  func end(of serial: Serial) -> StoredEnd? { ended[serial]?.stored }

  /// How an envelope ended, with the place that it had.
  func ending(of serial: Serial) -> EndedRow? { ended[serial] }

  func isAheadOfGap(_ serial: Serial) -> Bool { aheadOfGap.contains(serial) }

  /// The shards of the rows.
  var shards: Set<Int> {
    Set(lineBefore.values.map { Int($0.shard) } + endedBefore.values.map { Int($0.shard) })
  }

  // MARK: - Changes

  /// Carries out a change.
  ///
  /// - Parameter ending: The number under which the client is told of an end; nil if it is not.
  mutating func carryOut(
    _ plan: ChangePlan, of transition: Transition, ending: EndingNumber? = nil
  ) {
    let serial = transition.serial
    if case .requeue(let end) = plan.line {
      requeue(transition, end, standing: plan.standing)
    } else if var row = line[serial] {
      row.attempts = plan.attempts
      row.entry.attempts = Int32(truncatingIfNeeded: plan.attempts)
      if let standing = plan.standing { row.entry.standing = standing }
      line[serial] = row
      carryOut(plan.line, of: transition, row, ending)
    }
    if plan.keepsAttempt, let attempt = transition.attempt {
      attempts.append((serial, attempt))
      if let dropped = plan.attemptsDroppedThrough { attemptsDropped[serial] = dropped }
    }
    if let response = transition.response { responses[serial] = response }
  }

  private mutating func carryOut(
    _ change: ChangePlan.Line, of transition: Transition, _ row: WaitingRow,
    _ ending: EndingNumber?
  ) {
    var row = row
    let serial = transition.serial
    switch change {
    case .begin: row.entry.isInDoubt = true
    case .retry(let time, let doubt):
      row.entry.dueAt = time
      row.entry.isInDoubt = doubt != nil
      row.reason = doubt
    case .block(let reason):
      row.entry.dueAt = nil
      row.entry.isInDoubt = false
      row.reason = reason
    case .release(let keepsReason, let spendsHold):
      row.entry.dueAt = nil
      if !keepsReason { row.reason = nil }
      if spendsHold { spentHolds.insert(serial) }
    case .edit:
      guard case .edit(let edit) = transition.change else { return }
      return apply(edit)
    case .end(let state, let reason, let isInDoubt):
      line[serial] = nil
      ended[serial] = EndedRow(
        row, state, at: transition.at, reason: reason, isInDoubt: isInDoubt,
        attempt: transition.attempt, ending: ending)
      endCounts[LaneEnd(lane: row.entry.lane, state: state), default: 0] += 1
      return
    case .requeue: return
    }
    line[serial] = row
  }

  private mutating func requeue(
    _ transition: Transition, _ end: StoredEnd, standing: Standing?
  ) {
    guard case .requeue(var entry) = transition.change,
      let former = ended.removeValue(forKey: transition.serial)
    else { return }
    if let attempt = former.attempt { attempts.append((former.serial, attempt)) }
    entry.isInDoubt = end.isInDoubt
    if let standing { entry.standing = standing }
    var row = WaitingRow(entry: entry, shard: former.shard, bytes: former.bytes)
    row.attempts = end.attempts
    line[transition.serial] = row
    responses[transition.serial] = nil
    responsesDropped.insert(transition.serial)
    requeuedUntil[transition.serial] = entry.expiresAt
    endCounts[LaneEnd(lane: former.lane, state: end.state), default: 0] -= 1
  }

  /// Replaces content and terms; a waiting envelope's place goes along.
  mutating func apply(_ edit: EnvelopeEdit) {
    let serial = edit.entry.serial
    edits[serial] = edit
    spentHolds.remove(serial)
    if var row = line[serial] {
      row.entry.upstream = edit.entry.upstream
      row.entry.expiresAt = edit.entry.expiresAt
      row.entry.onFailure = edit.entry.onFailure
      row.entry.standing = edit.entry.standing
      row.entry.dueAt = edit.entry.dueAt
      row.entry.isInDoubt = false
      row.bytes = edit.content.byteCount
      line[serial] = row
    }
    ended[serial]?.upstream = edit.entry.upstream
    ended[serial]?.bytes = edit.content.byteCount
  }

  /// Replaces the end of an envelope.
  mutating func cancelEnded(
    _ serial: Serial, reason: String, at time: WallTime, ending: EndingNumber?
  ) {
    guard var end = ended[serial] else { return }
    endCounts[LaneEnd(lane: end.lane, state: end.state), default: 0] -= 1
    endCounts[LaneEnd(lane: end.lane, state: .cancelled), default: 0] += 1
    (end.state, end.endedAt, end.reason, end.ending) = (.cancelled, time, reason, ending)
    ended[serial] = end
  }

  // MARK: - Writing

  /// What differs from before, each table by few statements.
  var commands: [PostgresCommand] {
    var commands = endCommands + endingCommands + lineCommands
    if !attempts.isEmpty { commands += attemptCommands }
    commands += responseCommands
    // The terms of a correction are the envelope's own; the place has been written above.
    for edit in edits.values { commands += PostgresCommand.edit(edit) }
    if !spentHolds.isEmpty {
      commands.append(
        PostgresCommand(
          "UPDATE envelope SET hold = false WHERE serial = ANY($1)", [.int64s(Array(spentHolds))]))
    }
    if !requeuedUntil.isEmpty {
      commands.append(
        PostgresCommand(
          """
          UPDATE envelope SET expires_at = new.expires_at
          FROM unnest($1, $2) AS new(serial, expires_at) WHERE envelope.serial = new.serial
          """,
          [
            .int64s(Array(requeuedUntil.keys)),
            .int64s(requeuedUntil.values.map(\.millisecondsSinceEpoch)),
          ]))
      commands.append(.noteReferring(Array(requeuedUntil.keys)))
    }
    let counts = endCounts.filter { $0.value != 0 }
    if !counts.isEmpty {
      commands.append(.noteEnds(counts.map { ($0.key.lane, $0.key.state, $0.value) }))
    }
    return commands
  }

  private var lineCommands: [PostgresCommand] {
    let gone = lineBefore.keys.filter { line[$0] == nil }
    let new = line.values.filter { lineBefore[$0.entry.serial] == nil }
    let changed = line.values.filter { row in
      lineBefore[row.entry.serial].map { $0 != row } ?? false
    }
    var commands: [PostgresCommand] = []
    if !gone.isEmpty {
      commands.append(
        PostgresCommand("DELETE FROM line WHERE serial = ANY($1)", [.int64s(Array(gone))]))
    }
    if !new.isEmpty { commands.append(.insert(line: new)) }
    if !changed.isEmpty { commands.append(.update(line: changed)) }
    return commands
  }

  private var endCommands: [PostgresCommand] {
    let gone = endedBefore.keys.filter { ended[$0] == nil || ended[$0] != endedBefore[$0] }
    let new = ended.values.filter { endedBefore[$0.serial] != $0 }
    var commands: [PostgresCommand] = []
    if !gone.isEmpty {
      commands.append(
        PostgresCommand("DELETE FROM ended WHERE serial = ANY($1)", [.int64s(Array(gone))]))
    }
    if !new.isEmpty { commands.append(.insert(ended: new)) }
    return commands
  }

  /// What clients are to be told, and what not any more.
  private var endingCommands: [PostgresCommand] {
    let gone = endedBefore.values.filter {
      $0.ending != nil && ended[$0.serial]?.ending != $0.ending
    }
    let new = ended.values.filter {
      $0.ending != nil && endedBefore[$0.serial]?.ending != $0.ending
    }
    var commands: [PostgresCommand] = []
    if !gone.isEmpty { commands.append(.delete(endingsOf: gone)) }
    if !new.isEmpty { commands += PostgresCommand.insert(endingsOf: new) }
    return commands
  }

  private var attemptCommands: [PostgresCommand] {
    var records: [Serial: [Int32: AttemptRecord]] = [:]
    for (serial, record) in attempts { records[serial, default: [:]][record.number] = record }
    let rows = records.flatMap { serial, records in records.values.map { (serial, $0) } }
    var commands = [PostgresCommand.put(attempts: rows)]
    if !attemptsDropped.isEmpty {
      commands.append(
        PostgresCommand(
          """
          DELETE FROM attempt USING unnest($1, $2) AS old(serial, through)
          WHERE attempt.serial = old.serial AND attempt.number <= old.through
          """,
          [.int64s(Array(attemptsDropped.keys)), .int64s(Array(attemptsDropped.values))]))
    }
    return commands
  }

  private var responseCommands: [PostgresCommand] {
    var commands: [PostgresCommand] = []
    if !responsesDropped.isEmpty {
      commands.append(
        PostgresCommand(
          "DELETE FROM response WHERE serial = ANY($1)", [.int64s(Array(responsesDropped))]))
    }
    if !responses.isEmpty { commands.append(.put(responses: responses)) }
    return commands
  }

  /// How the counts of the store change.
  func count(_ counts: inout StoreCounts) {
    for row in lineBefore.values { counts.standing[row.entry.standing, default: 0] -= 1 }
    for row in line.values { counts.standing[row.entry.standing, default: 0] += 1 }
    for row in endedBefore.values { counts.ended[row.state, default: 0] -= 1 }
    for row in ended.values { counts.ended[row.state, default: 0] += 1 }
    let before =
      lineBefore.values.reduce(0) { $0 + $1.bytes }
      + endedBefore.values.reduce(0) { $0 + $1.bytes }
    let now = line.values.reduce(0) { $0 + $1.bytes } + ended.values.reduce(0) { $0 + $1.bytes }
    counts.contentBytes += now - before
  }

  /// By how much what waits of each client changes.
  var use: [ClientNumber: WaitingUse] {
    var use: [ClientNumber: WaitingUse] = [:]
    for row in lineBefore.values {
      use[row.entry.client, default: WaitingUse()] += WaitingUse(count: -1, bytes: -row.bytes)
    }
    for row in line.values {
      use[row.entry.client, default: WaitingUse()] += WaitingUse(count: 1, bytes: row.bytes)
    }
    return use.filter { !$0.value.isNothing }
  }
}
#endif
