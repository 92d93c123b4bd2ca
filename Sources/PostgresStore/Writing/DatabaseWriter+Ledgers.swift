#if PostgreSQL
import Postgres
import RelayCore

// Ledgers of evidence lanes.
extension DatabaseWriter {
  /// Forgets entries that are kept no longer; see ``ReceiptStore``.
  func forgetEntries(_ retention: ReceiptRetention, countMax: Int) throws(StoreError) -> Bool {
    let answers = try read([
      PostgresCommand(
        """
        SELECT number FROM lane_ledger WHERE state IS NOT NULL AND at < $1 ORDER BY at LIMIT $2
        """, [.int64(retention.since.millisecondsSinceEpoch), .int64(Int64(countMax))]),
      PostgresCommand(
        """
        SELECT number FROM lane_ledger
        WHERE state IS NOT NULL AND number <= (SELECT max(number) FROM lane_ledger) - $1
        ORDER BY number LIMIT $2
        """, [.int64(Int64(retention.entriesMax)), .int64(Int64(countMax))]),
    ])
    let due = answers.flatMap { rows in (0..<rows.count).map { rows.int64($0, 0) } }
    guard !due.isEmpty else { return true }
    try write(
      [PostgresCommand("DELETE FROM lane_ledger WHERE number = ANY($1)", [.int64s(due)])],
      shards: [])
    return answers.allSatisfy { $0.count < countMax }
  }
}

extension PostgresCommand {
  /// Adds entries to lanes' ledgers.
  static func insert(entries: [NewLedgerEntry], at time: WallTime) -> PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO lane_ledger (number, at, lane, sequence, serial, digest, link)
      SELECT (SELECT coalesce(max(number), 0) FROM lane_ledger) + place, $1, lane, sequence, serial,
        digest, link
      FROM unnest($2, $3, $4, $5, $6)
        WITH ORDINALITY AS new(lane, sequence, serial, digest, link, place)
      """,
      [
        .int64(time.millisecondsSinceEpoch), .int64s(entries.map(\.lane.rawValue)),
        .int64s(entries.map(\.entry.number)), .int64s(entries.map(\.serial)),
        .byteStrings(entries.map(\.entry.digest)), .byteStrings(entries.map(\.entry.link)),
      ])
  }

  /// Keeps relays away that know no version of the tables from this one on.
  ///
  /// - Parameter version: The first whose relays heed what these tables hold by now: older ones
  ///   would forget envelopes without a word in ledgers, or keys that are to be remembered.
  static func keepRelaysAway(below version: Int) -> PostgresCommand {
    PostgresCommand(
      sql: "UPDATE schema_version SET usable_from = \(version) WHERE usable_from < \(version)")
  }

  /// Notes how envelopes ended, before they are forgotten.
  static func closeEntries(of serials: PostgresValue, at time: WallTime) -> PostgresCommand {
    PostgresCommand(
      sql: """
        UPDATE lane_ledger SET at = $2, state = ended.state, status = \(endStatus),
          ended_at = ended.ended_at, response = sha256(coalesce(
            (SELECT body FROM response WHERE response.serial = ended.serial), ''))
        FROM ended WHERE ended.serial = lane_ledger.serial AND ended.serial = ANY($1)
        """, [serials, .int64(time.millisecondsSinceEpoch)])
  }

  /// The status of the answer to the last attempt; an end that no attempt made does not have it.
  fileprivate static let endStatus = """
    CASE WHEN ended.attempt_number IS NULL THEN (SELECT attempt.status FROM attempt
      WHERE attempt.serial = ended.serial ORDER BY attempt.number DESC LIMIT 1)
      ELSE ended.attempt_status END
    """
}

extension DatabaseReader {
  /// Some entries of a lane; see ``ReceiptStore``.
  func ledger(
    of lane: LaneName, _ numbers: ClosedRange<Int64>, countMax: Int
  ) throws(StoreError) -> LedgerPage? {
    let answers = try run([
      PostgresCommand("SELECT id FROM receipt_origin"),
      PostgresCommand(
        """
        SELECT 1 FROM lane JOIN client ON client.number = lane.client
        WHERE client.name = $1 AND lane.name = $2
        """, [.text(lane.client), .text(lane.lane)]),
      PostgresCommand(
        sql: """
          SELECT sequence, digest, link, coalesce(state, end_state),
            coalesce(status, end_status, 0), coalesce(ended_at, end_at),
            CASE WHEN state IS NULL AND end_state IS NOT NULL THEN sha256(coalesce(
              (SELECT body FROM response WHERE response.serial = found.serial), ''))
              ELSE response END
          FROM (
            SELECT entry.*, ended.state AS end_state, ended.ended_at AS end_at,
              \(PostgresCommand.endStatus) AS end_status,
              coalesce(sum(octet_length(answer.body)) OVER (
                ORDER BY sequence ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
            FROM (
              SELECT * FROM lane_ledger WHERE lane = (
                SELECT lane.number FROM lane JOIN client ON client.number = lane.client
                WHERE client.name = $1 AND lane.name = $2
              ) AND sequence BETWEEN $3 AND $4 AND (state IS NOT NULL
                OR EXISTS (SELECT 1 FROM envelope WHERE envelope.serial = lane_ledger.serial))
              ORDER BY sequence LIMIT $5
            ) AS entry LEFT JOIN ended ON ended.serial = entry.serial
            LEFT JOIN response AS answer ON answer.serial = ended.serial
          ) AS found WHERE before < \(LedgerPage.answerBytesMax) ORDER BY sequence
          """,
        [
          .text(lane.client), .text(lane.lane), .int64(numbers.lowerBound),
          .int64(numbers.upperBound), .int64(Int64(countMax)),
        ]),
    ])
    guard answers[1].count == 1 else { return nil }
    var entries: [LedgerEntry] = []
    for row in 0..<answers[2].count { entries.append(try LedgerEntry(answers[2], row)) }
    return LedgerPage(store: answers[0].bytes(0, 0), entries: entries)
  }
}

extension LedgerEntry {
  fileprivate init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    self.init(
      number: rows.int64(row, 0), digest: rows.bytes(row, 1), link: rows.bytes(row, 2), ending: nil)
    guard let at = rows.int64OrNil(row, 5) else { return }
    let code = Int64(rows.int16(row, 3))
    guard let state = EnvelopeState.end(ofCode: code) else { throw .invalidRow("an end") }
    ending = Ending(
      state: state, status: Int(rows.int32(row, 4)),
      responseDigest: rows.bytesOrNil(row, 6) ?? Self.noDigest,
      at: WallTime(millisecondsSinceEpoch: at))
  }
}
#endif
