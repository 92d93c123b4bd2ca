import EventLoop
import RelayCore
import SQLite

// Envelopes whose row in the line, or among the ended ones, is lost.
extension Salvage {
  /// An envelope's end by the event log.
  private struct LoggedEnd {
    var state: EnvelopeState
    var at: Int64
    var attempts: Int64
    var reason: String?
  }

  /// Determines for each envelope without a state whether it waited: by the event log, or else by
  /// which of the two tables has lost rows.
  ///
  /// In doubt it waits: if an envelope is sent twice, its idempotency key shows it; if it is not
  /// sent at all, nothing does.
  func placeTheStateless() throws(StoreError) {
    let stateless = Set(
      try numbers(
        """
        SELECT serial FROM envelope WHERE serial NOT IN (SELECT serial FROM line) \
        AND serial NOT IN (SELECT serial FROM ended)
        """))
    guard !stateless.isEmpty else { return }
    let ends = try loggedEnds(of: stateless)
    let isLineWhole = (lost["line"] ?? 0) == 0 && !hasStrays
    for serial in stateless.sorted() {
      if let end = ends[serial] {
        try restore(serial, end: end)
      } else if isLineWhole {
        try restore(
          serial,
          end: LoggedEnd(
            state: .failed, at: WallClock.now().millisecondsSinceEpoch, attempts: 0,
            reason: "salvaged: how it ended is lost; it may have been delivered"))
        try noteState(serial, "how it ended is lost; it is kept as a dead letter")
      } else {
        try restoreInLine(serial)
        try noteState(
          serial,
          "its place in the line is lost; it waits again, in its old order, though it may "
            + "have been delivered")
      }
    }
  }

  private func loggedEnds(of serials: Set<Int64>) throws(StoreError) -> [Int64: LoggedEnd] {
    var ends: [Int64: LoggedEnd] = [:]
    let row = try Statement("SELECT at, entries FROM event_log ORDER BY number", on: connection)
    while try row.step() {
      try EventEntries.forEach(in: row.bytes(1)) { entry in
        guard let serial = entry.serial, serials.contains(serial) else { return }
        let state: EnvelopeState? =
          switch entry.kind {
          case .delivered: .delivered
          case .failed: .failed
          case .expired: .expired
          case .cancelled: .cancelled
          default: nil
          }
        ends[serial] = state.map {
          LoggedEnd(
            state: $0, at: row.int(0), attempts: Int64(entry.attempt ?? 0), reason: entry.reason)
        }
      }
    }
    return ends
  }

  private func restore(_ serial: Int64, end: LoggedEnd) throws(StoreError) {
    let row = try Statement(
      "INSERT INTO ended (serial, state, ended_at, attempts, reason) VALUES (?, ?, ?, ?, ?)",
      on: connection)
    try row.run(serial, end.state.endCode, end.at, end.attempts, end.reason)
  }

  private func restoreInLine(_ serial: Int64) throws(StoreError) {
    let envelope = try Statement("SELECT id FROM envelope WHERE serial = ?", on: connection)
    guard case let id?? = try envelope.first(serial, read: { RowRules.id($0.bytes(0)) }) else {
      return
    }
    let row = try Statement(
      """
      INSERT INTO line (serial, client, lane, upstream, accepted_at, expires_at, standing, \
      on_failure, due_at, attempts, in_doubt) \
      SELECT e.serial, e.client, e.lane, e.upstream, ?, e.expires_at, \
      CASE WHEN e.sequence > p.placed_through THEN \(Standing.parked.code) \
      WHEN e.hold THEN \(Standing.held.code) ELSE \(Standing.queued.code) END, \
      e.on_failure, e.not_before, \
      (SELECT coalesce(max(number), 0) FROM attempt AS a WHERE a.serial = e.serial), 1 \
      FROM envelope AS e LEFT JOIN parked_lane AS p ON p.lane = e.lane WHERE e.serial = ?
      """, on: connection)
    try row.run(id.acceptedAt, serial)
  }

  private func noteState(_ serial: Int64, _ reason: String) throws(StoreError) {
    if let finding = try finding(.state, "line", of: serial, reason) { try add(finding) }
  }

  /// A finding about an envelope, with what is known of it; nil if there is no row of it.
  func finding(
    _ kind: SalvageFinding.Kind, _ table: String, of serial: Int64, _ reason: String
  ) throws(StoreError) -> SalvageFinding? {
    let row = try Statement(
      """
      SELECT e.id, c.name, l.name FROM envelope AS e LEFT JOIN client AS c \
      ON c.number = e.client LEFT JOIN lane AS l ON l.number = e.lane WHERE e.serial = ?
      """, on: connection)
    return try row.first(serial) { row in
      let id = RowRules.id(row.bytes(0))
      return SalvageFinding(
        kind: kind, table: table, row: serial, id: id, client: row.text(1), lane: row.text(2),
        acceptedAt: id?.acceptedAt, reason: reason)
    }
  }

  // MARK: - Sequence numbers

  /// Completes what a lane that waits for numbers needs to know: whether each number came or is
  /// missing.
  func mendNumbers() throws(StoreError) {
    try connection.execute(
      """
      INSERT OR IGNORE INTO sequence_index (lane, sequence, serial) \
      SELECT lane, sequence, serial FROM envelope WHERE sequence IS NOT NULL;
      DELETE FROM sequence_index WHERE serial NOT IN (SELECT serial FROM envelope);
      UPDATE lane SET last_sequence = (SELECT max(n) FROM (\
      SELECT last_sequence AS n UNION ALL \
      SELECT max(sequence) FROM sequence_index WHERE lane = lane.number UNION ALL \
      SELECT max(last) FROM gap WHERE lane = lane.number));
      INSERT OR IGNORE INTO parked_lane (lane, placed_through) SELECT s.lane, \
      min(n.sequence) - 1 FROM line AS s JOIN sequence_index AS n ON n.serial = s.serial \
      WHERE s.standing = \(Standing.parked.code) GROUP BY s.lane;
      -- Without its number nothing can be waited for: it stands in line as it is.
      UPDATE line SET standing = \(Standing.queued.code) \
      WHERE standing = \(Standing.parked.code) AND serial NOT IN (\
      SELECT n.serial FROM sequence_index AS n JOIN parked_lane AS p ON p.lane = n.lane \
      WHERE n.sequence > p.placed_through);
      """)
    try restoreMoves()
    for lane in try numbers("SELECT lane FROM parked_lane") { try mendGaps(of: lane) }
  }

  /// Marks numbers that came and are lost as missing: the device is told, and may send them again.
  private func mendGaps(of lane: Int64) throws(StoreError) {
    let placed = try connection.number(
      "SELECT placed_through FROM parked_lane WHERE lane = \(lane)")
    let last = try connection.number(
      "SELECT coalesce(last_sequence, 0) FROM lane WHERE number = \(lane)")
    let known = try Statement(
      """
      SELECT sequence, sequence FROM sequence_index WHERE lane = ?1 AND sequence > ?2 UNION ALL \
      SELECT first, last FROM gap WHERE lane = ?1 AND last > ?2 ORDER BY 1
      """, on: connection)
    known.set(lane, placed)
    var next = placed + 1
    var missing: [(Int64, Int64)] = []
    while try known.step() {
      if known.int(0) > next { missing.append((next, known.int(0) - 1)) }
      next = max(next, known.int(1) + 1)
    }
    if next <= last { missing.append((next, last)) }
    for (first, last) in missing {
      try connection.execute("INSERT OR IGNORE INTO gap VALUES (\(lane), \(first), \(last), 0)")
    }
  }

  // MARK: - Events and counts

  /// Removes holes from the event log, which listeners would not notice.
  ///
  /// Events before the last hole are deleted, and if anything is lost, listeners start over.
  func mendEvents() throws(StoreError) {
    let first = try connection.number(
      """
      SELECT coalesce(max(number), 0) FROM event_log AS e WHERE number > 1 AND NOT EXISTS (\
      SELECT 1 FROM event_log AS before WHERE before.number = e.number - 1)
      """)
    let before = try connection.number("SELECT count(*) FROM event_log WHERE number < \(first)")
    guard before > 0 || (lost["event_log"] ?? 0) > 0 || (lost["event_origin"] ?? 0) > 0 else {
      return
    }
    try connection.execute(
      """
      DELETE FROM event_log WHERE number < \(first);
      UPDATE event_origin SET origin = random() & 4294967295;
      """)
    try add(
      SalvageFinding(
        kind: .events, table: "event_log",
        reason: "a part of the log of events is lost; those who listen begin anew"))
  }

  /// Begins with receipts anew, as another store, if any of them are lost.
  ///
  /// A group's number must not be given out twice.
  func mendReceipts() throws(StoreError) {
    // How these ended is lost.
    try connection.execute(
      """
      DELETE FROM lane_ledger WHERE state IS NULL AND serial NOT IN (SELECT serial FROM envelope)
      """)
    let isWhole = ["receipt", "receipt_origin", "lane", "lane_ledger"].allSatisfy {
      (lost[$0] ?? 0) == 0
    }
    guard !isWhole else { return }
    try connection.execute(
      """
      DELETE FROM receipt;
      UPDATE lane SET chain = NULL;
      UPDATE receipt_origin SET id = randomblob(16);
      """)
  }

  /// Sets all counts by the rows, and the marks of referring envelopes by their content.
  func mendCounts() throws(StoreError) {
    try connection.execute(
      """
      DELETE FROM ended_log;
      UPDATE line SET bytes = \(StoreCounts.lineBytes), refers = (\
      SELECT e.has_references FROM envelope AS e WHERE e.serial = line.serial);
      UPDATE client SET lane_count = \
      (SELECT count(*) FROM lane WHERE lane.client = client.number);
      """)
    try mendLaneCounts()
    if lost["ending"] != nil {
      // Telling an ending twice does no harm.
      try connection.execute(
        """
        INSERT OR IGNORE INTO ending (client, number, serial) SELECT e.client, d.ending, d.serial \
        FROM ended AS d JOIN envelope AS e ON e.serial = d.serial WHERE d.ending IS NOT NULL
        """)
    }
    let counts = StoreCounts.selection
    let seen = try lastNumbersSeen()
    try connection.execute(
      """
      UPDATE ledger SET (\(StoreCounts.columns)) = (\(counts)),
      last_serial = max(last_serial, \(seen.serial), \
      (SELECT coalesce(max(serial), 0) FROM envelope), \
      (SELECT coalesce(max(serial), 0) FROM moved)),
      last_accepted_at = max(last_accepted_at, \
      (SELECT coalesce(max(accepted_at), 0) FROM line), \(try lastAcceptedAt())),
      last_ending = max(last_ending, (SELECT coalesce(max(number), 0) FROM ending)),
      last_client = max(last_client, \(seen.client), \
      (SELECT coalesce(max(number), 0) FROM client)),
      last_lane = max(last_lane, \(seen.lane), (SELECT coalesce(max(number), 0) FROM lane))
      """)
  }

  private func mendLaneCounts() throws(StoreError) {
    let ends = StoreCounts.ends
    let none = ends.map { "\($0.column) = 0" }.joined(separator: ", ")
    let counted = ends.map { "\($0.column) = n.\($0.column)" }.joined(separator: ", ")
    let sums = ends.map { "sum(d.state = \($0.code)) AS \($0.column)" }.joined(separator: ", ")
    try connection.execute(
      """
      UPDATE lane SET \(none);
      UPDATE lane SET \(counted) FROM (SELECT e.lane AS number, \(sums) \
      FROM ended AS d JOIN envelope AS e ON e.serial = d.serial GROUP BY e.lane) AS n \
      WHERE n.number = lane.number;
      """)
  }

  /// The greatest numbers in any event, even if their envelopes or names are forgotten or lost.
  private func lastNumbersSeen() throws(StoreError) -> (serial: Int64, client: Int64, lane: Int64) {
    let row = try Statement("SELECT entries FROM event_log", on: connection)
    var last: (serial: Int64, client: Int64, lane: Int64) = (0, 0, 0)
    while try row.step() {
      try EventEntries.forEach(in: row.bytes(0)) { entry in
        last.serial = max(last.serial, entry.serial ?? 0)
        last.client = max(last.client, entry.client?.rawValue ?? 0)
        last.lane = max(last.lane, entry.lane?.rawValue ?? 0)
      }
    }
    // An impossible number is damage, and must not use up all numbers.
    let numberMax = EnvelopeID.serialMax - 1
    return (min(last.serial, numberMax), min(last.client, numberMax), min(last.lane, numberMax))
  }

  private func lastAcceptedAt() throws(StoreError) -> Int64 {
    let row = try Statement(
      "SELECT id FROM envelope ORDER BY serial DESC LIMIT 1", on: connection)
    guard try row.step(), let id = RowRules.id(row.bytes(0)) else { return 0 }
    return id.acceptedAt.millisecondsSinceEpoch
  }
}
