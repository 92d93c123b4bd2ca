#if PostgreSQL
import Postgres
import RelayCore

// How what was parked gets into line once nothing is missing before it: at the end of the line,
// under a new number, in the order of its sequence numbers.
extension DatabaseWriter {
  /// What the database knows of a lane behind the numbers that are in line.
  private struct LaneFacts {
    /// The name of its client; nil if it becomes known by this transaction.
    var client: String?
    var highest: Int64
    var placed: Int64
    var serials: [Int64: Serial] = [:]
    var gaps: [SequenceGap] = []
    /// The number up to which ``serials`` and ``gaps`` tell all.
    var readThrough = Int64.max
  }

  /// Goes on in the lanes in which an earlier transaction has left something.
  func flowOn() throws(StoreError) {
    var rows = PostRows()
    var receipt = AppendReceipt(flowing: flowing)
    let before = given
    var commit = Commit()
    do throws(StoreError) {
      try flow(flowing.sorted(), &rows, &receipt)
      try write(rows, in: &commit)
    } catch {
      given = before
      throw error
    }
    flowing = receipt.flowing
    receipt.tell(in: &commit)
    tell(commit)
  }

  /// Plans to put in line what of some lanes waits for nothing any more.
  ///
  /// - Parameters:
  ///   - rows: What the transaction writes besides; the moves are added.
  ///   - receipt: Is told what moves.
  func flow(
    _ lanes: [LaneNumber], _ rows: inout PostRows, _ receipt: inout AppendReceipt
  ) throws(StoreError) {
    var left = limits.placedMax
    for lane in lanes where left > 0 {
      guard let facts = try facts(of: lane, rows, countMax: left) else {
        receipt.place([], of: lane, hasMore: false)
        continue
      }
      let (placed, hasMore) = try place(lane, facts, &rows, countMax: left)
      receipt.place(placed, of: lane, hasMore: hasMore)
      left -= placed.count
    }
  }

  /// Reads what is to be known of a lane, with what this transaction changes of it; nil if nothing
  /// is parked there.
  private func facts(
    of lane: LaneNumber, _ rows: PostRows, countMax: Int
  ) throws(StoreError) -> LaneFacts? {
    let values: [PostgresValue] = [.int64(lane.rawValue), .int64(Int64(countMax) + 1)]
    let answers = try read([
      PostgresCommand(
        """
        SELECT client.name, last_sequence, placed_through
        FROM lane JOIN client ON client.number = lane.client WHERE lane.number = $1
        """, [.int64(lane.rawValue)]),
      PostgresCommand(
        """
        SELECT taken.number, taken.serial FROM sequence_index AS taken
        JOIN lane ON lane.number = taken.lane
        WHERE taken.lane = $1 AND taken.number > coalesce(placed_through, last_sequence, 0)
        ORDER BY taken.number LIMIT $2
        """, values),
      PostgresCommand(
        """
        SELECT gap.first, gap.last, is_skipped FROM gap JOIN lane ON lane.number = gap.lane
        WHERE gap.lane = $1 AND gap.last > coalesce(placed_through, last_sequence, 0)
        ORDER BY gap.first LIMIT $2
        """, values),
    ])
    let isKnown = answers[0].count == 1
    let own = rows.numbers[lane]
    let stored = isKnown ? answers[0].int64OrNil(0, 2) : nil
    guard let placed = own?.placedThrough ?? stored else { return nil }
    let highest = isKnown ? answers[0].int64OrNil(0, 1) : nil
    var facts = LaneFacts(
      client: isKnown ? answers[0].text(0, 0) : nil, highest: own?.highest ?? highest ?? 0,
      placed: placed)
    Self.fill(&facts, lane, serials: answers[1], gaps: answers[2], rows, countMax: countMax)
    return facts
  }

  private static func fill(
    _ facts: inout LaneFacts, _ lane: LaneNumber, serials: PostgresRows, gaps: PostgresRows,
    _ rows: PostRows, countMax: Int
  ) {
    for row in 0..<serials.count { facts.serials[serials.int64(row, 0)] = serials.int64(row, 1) }
    if serials.count > countMax {
      facts.readThrough = serials.int64(serials.count - 1, 0)
    }
    if gaps.count > countMax {
      facts.readThrough = min(facts.readThrough, gaps.int64(gaps.count - 1, 1))
    }
    let below = rows.numbers[lane]?.skipsBelow ?? 0
    for row in 0..<gaps.count {
      let range = SequenceRange(first: gaps.int64(row, 0), last: gaps.int64(row, 1))
      guard rows.gaps[PostRows.Place(lane: lane, number: range.first)] == nil else { continue }
      let isSkipped = gaps.bool(row, 2) || range.first < below
      facts.gaps.append(SequenceGap(range, isSkipped: isSkipped))
    }
    for (place, serial) in rows.sequences where place.lane == lane {
      facts.serials[place.number] = serial
    }
    for (place, gap) in rows.gaps where place.lane == lane {
      if let gap { facts.gaps.append(gap) }
    }
    facts.gaps.sort { $0.range.first < $1.range.first }
  }

  private func place(
    _ lane: LaneNumber, _ facts: LaneFacts, _ rows: inout PostRows, countMax: Int
  ) throws(StoreError) -> (placed: [AcceptedEnvelope], hasMore: Bool) {
    var (through, gap) = (facts.placed, facts.gaps[...])
    var moving: [(number: Int64, serial: Serial)] = []
    var links: [ChainLink.Step] = []
    var hasMore = false
    steps: while through < facts.highest {
      let next = through + 1
      guard moving.count < countMax, next <= facts.readThrough else {
        hasMore = true
        break
      }
      while let first = gap.first, first.range.last < next { gap.removeFirst() }
      let around = gap.first.flatMap { $0.range.first <= next ? $0 : nil }
      switch PlacingRules.step(serial: facts.serials[next], gap: around) {
      case .wait: break steps
      case .pass(let last):
        links.append(.pass(SequenceRange(first: next, last: last)))
        through = last
      case .move(let serial):
        moving.append((next, serial))
        links.append(.take(next, nil))
        through = next
      }
    }
    guard through > facts.placed || through >= facts.highest else { return ([], hasMore) }
    if let client = facts.client { rows.note(shardOf: client) }
    rows.numbers[lane, default: PostRows.Numbers()].placedThrough =
      through >= facts.highest ? .some(nil) : .some(through)
    let (placed, linked) = try move(moving, of: lane, &rows)
    for link in links {
      if case .take(let number, _) = link {
        rows.link(lane, .take(number, linked[number]))
      } else {
        rows.link(lane, link)
      }
    }
    return (placed, hasMore)
  }

  // MARK: - Moving

  private func move(
    _ moving: [(number: Int64, serial: Serial)], of lane: LaneNumber, _ rows: inout PostRows
  ) throws(StoreError) -> (placed: [AcceptedEnvelope], linked: [Int64: LinkedEnvelope]) {
    let old = moving.map(\.serial).filter { rows.inserts[$0] == nil }
    let stored = old.isEmpty ? [:] : try parked(old)
    var placed: [AcceptedEnvelope] = []
    var linked: [Int64: LinkedEnvelope] = [:]
    for (number, serial) in moving {
      let digest = rows.inserts[serial]?.draft.knownDigest ?? stored[serial]?.digest
      let place = PostRows.Place(lane: lane, number: number)
      if let envelope = moveInsert(serial, place, &rows) {
        linked[number] = digest.map {
          LinkedEnvelope(serial: envelope.entry.serial, digest: $0)
        }
        placed.append(envelope)
        rows.log(EventEntry(placed: envelope.entry))
      } else if let envelope = stored[serial] {
        let new = nextSerial()
        linked[number] = digest.map { LinkedEnvelope(serial: new, digest: $0) }
        rows.sequences[place] = new
        let standing: Standing = envelope.isHeld ? .held : .queued
        rows.moves.append((serial, new, standing, waits: envelope.entry != nil))
        guard var entry = envelope.entry else { continue }
        (entry.serial, entry.standing) = (new, standing)
        placed.append(AcceptedEnvelope(entry: entry, id: envelope.id, movedFrom: serial))
        rows.log(EventEntry(placed: entry))
      } else {
        // It ended while it was parked, and is kept no longer.
        rows.emptied.append(place)
      }
    }
    return (placed, linked)
  }

  /// Moves an envelope that this very transaction has parked.
  private func moveInsert(
    _ serial: Serial, _ place: PostRows.Place, _ rows: inout PostRows
  ) -> AcceptedEnvelope? {
    guard var insert = rows.inserts.removeValue(forKey: serial) else { return nil }
    let new = nextSerial()
    insert.entry.serial = new
    insert.entry.standing = insert.draft.hold ? .held : .queued
    rows.inserts[new] = insert
    rows.movedInserts[serial] = new
    rows.sequences[place] = new
    rows.moveKey(of: insert, to: new)
    return AcceptedEnvelope(entry: insert.entry, id: insert.id, movedFrom: serial)
  }

  private func nextSerial() -> Serial {
    let serial = given.nextSerial
    given.lastSerial = serial
    return serial
  }

  /// What is stored of an envelope that was parked.
  private struct ParkedRow {
    let id: EnvelopeID
    let isHeld: Bool
    /// nil if it has ended.
    let entry: LineEntry?
    /// What a receipt covers of it; nil if that is not known.
    let digest: [UInt8]?
  }

  private func parked(
    _ serials: [Serial]
  ) throws(StoreError) -> [Serial: ParkedRow] {
    let rows = try read([
      PostgresCommand(
        sql: "SELECT \(WaitingRow.columns) FROM line WHERE serial = ANY($1)", [.int64s(serials)]),
      PostgresCommand(
        "SELECT serial, id, hold, covered_digest FROM envelope WHERE serial = ANY($1)",
        [.int64s(serials)]),
    ])
    var entries: [Serial: LineEntry] = [:]
    for row in 0..<rows[0].count {
      let line = try WaitingRow(rows[0], row)
      entries[line.entry.serial] = line.entry
    }
    var found: [Serial: ParkedRow] = [:]
    for row in 0..<rows[1].count {
      let serial = rows[1].int64(row, 0)
      found[serial] = ParkedRow(
        id: try EnvelopeID(stored: rows[1].uuid(row, 1)), isHeld: rows[1].bool(row, 2),
        entry: entries[serial], digest: rows[1].bytesOrNil(row, 3))
    }
    return found
  }

  // MARK: - Missing numbers

  /// What some lanes wait for.
  func missing(in lanes: Set<LaneNumber>) throws(StoreError) -> [LaneNumber: MissingNumbers] {
    guard !lanes.isEmpty else { return [:] }
    return MissingNumbers.byLane(try read([MissingNumbers.command(of: lanes)])[0])
  }

  /// Gives up the missing numbers of a lane, as far as something has been parked for them long
  /// enough.
  func skipGaps(
    of lane: LaneNumber, parkedBy time: WallTime, now: WallTime
  ) throws(StoreError) -> GapSkip {
    let answers = try read([
      PostgresCommand(
        """
        SELECT client.name, lane.placed_through FROM lane
        JOIN client ON client.number = lane.client WHERE lane.number = $1
        """, [.int64(lane.rawValue)]),
      PostgresCommand(
        """
        SELECT taken.number, line.accepted_at FROM lane
        JOIN sequence_index AS taken ON taken.lane = lane.number
          AND taken.number > placed_through
        JOIN line ON line.serial = taken.serial WHERE lane.number = $1
        """, [.int64(lane.rawValue)]),
    ])
    guard answers[0].count == 1, let placed = answers[0].int64OrNil(0, 1) else {
      return GapSkip(skipped: [], waitingSince: nil)
    }
    let future = now.adding(milliseconds: AppendRules.timeHeldMs)
    let parked = (0..<answers[1].count).map { row in
      (
        number: answers[1].int64(row, 0),
        since: WallTime(millisecondsSinceEpoch: answers[1].int64(row, 1))
      )
    }
    let due = parked.filter { $0.since <= time || $0.since > future }.map(\.number).max()
    let since = parked.filter { $0.number > due ?? placed }.map(\.since).min()
    guard let due else { return GapSkip(skipped: [], waitingSince: since) }
    let skipped = try skip(below: due, in: lane, of: answers[0].text(0, 0), placed: placed)
    return GapSkip(skipped: skipped, waitingSince: since)
  }

  private func skip(
    below number: Int64, in lane: LaneNumber, of client: String, placed: Int64
  ) throws(StoreError) -> [SequenceRange] {
    let open = try read([
      PostgresCommand(
        """
        SELECT first, last FROM gap
        WHERE lane = $1 AND NOT is_skipped AND first > $2 AND first < $3 ORDER BY first
        """, [.int64(lane.rawValue), .int64(placed), .int64(number)])
    ])[0]
    var rows = PostRows()
    rows.note(shardOf: client)
    rows.skip(below: number, in: lane)
    let skipped = (0..<open.count).map {
      SequenceRange(first: open.int64($0, 0), last: open.int64($0, 1))
    }
    for range in skipped {
      rows.log(EventEntry(.gapSkipped, lane: lane, numbers: [range.first, range.last]))
    }
    var commit = Commit()
    try write(rows, in: &commit)
    flowing.insert(lane)
    tell(commit)
    return skipped
  }
}

extension PostRows {
  /// Has the key of an envelope that is moved stand for its new number.
  mutating func moveKey(of insert: Insert, to serial: Serial) {
    guard let key = insert.draft.key else { return }
    put(key: Key(client: insert.entry.client, key: key), serial)
  }
}

extension MissingNumbers {
  /// Asks for the lowest open gaps of lanes in which something is parked, one more than is shown.
  static func command(of lanes: some Collection<LaneNumber>) -> PostgresCommand {
    PostgresCommand(
      """
      SELECT lane.number, open.first, open.last FROM unnest($1) AS asked(lane)
      JOIN lane ON lane.number = asked.lane
      JOIN LATERAL (
        SELECT first, last FROM gap
        WHERE gap.lane = lane.number AND NOT is_skipped AND first > placed_through
        ORDER BY first LIMIT $2
      ) AS open ON true
      ORDER BY lane.number, open.first
      """,
      [.int64s(lanes.map(\.rawValue)), .int64(Int64(StoreLimits.missingRangesMax) + 1)])
  }

  /// Reads the answer.
  static func byLane(_ rows: PostgresRows) -> [LaneNumber: MissingNumbers] {
    var ranges: [LaneNumber: [SequenceRange]] = [:]
    for row in 0..<rows.count {
      ranges[LaneNumber(rawValue: rows.int64(row, 0)), default: []].append(
        SequenceRange(first: rows.int64(row, 1), last: rows.int64(row, 2)))
    }
    return ranges.mapValues { ranges in
      MissingNumbers(
        ranges: Array(ranges.prefix(StoreLimits.missingRangesMax)),
        hasMore: ranges.count > StoreLimits.missingRangesMax)
    }
  }
}
#endif
