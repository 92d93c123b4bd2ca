import RelayCore

// Where each table that is moved lies in a data folder's database. What has no part of its own here
// follows from the rest, or is not moved: `docs/decisions/0060-moving-between-stores.md`.
extension MovedTable {
  /// The rows in the order of their key: the table's columns, perhaps with some behind them that
  /// ``SQLiteRows`` uses itself; nil for bodies, which are files.
  var selection: String? {
    switch self {
    case .given: "SELECT last_serial, last_client, last_lane, last_ending FROM ledger"
    case .lane:
      """
      SELECT l.number, l.client, l.name, l.last_sequence, p.placed_through, l.chain, \
      \(Self.laneEnds) FROM lane AS l LEFT JOIN parked_lane AS p ON p.lane = l.number \
      ORDER BY l.number
      """
    case .upstream: "SELECT number, name, start_paused FROM upstream ORDER BY number"
    case .bodyChunk: nil
    case .envelope: Self.envelopeSelection
    case .formerKey:
      "SELECT serial, revision, key FROM coalesced_key ORDER BY serial, revision"
    case .nameIndex: "SELECT lane, key, serial FROM coalesce_index ORDER BY lane, key"
    case .sequenceIndex:
      "SELECT lane, sequence, serial FROM sequence_index ORDER BY lane, sequence"
    case .moved: "SELECT serial, place FROM moved ORDER BY serial"
    case .client, .paused, .line, .ended, .attempt, .response, .keyIndex, .gap, .checksIn, .ending,
      .token, .audit, .operation, .history, .eventOrigin, .eventLog, .receiptOrigin, .receipt,
      .laneLedger, .rememberedKey:
      "SELECT \(columnList) FROM \(rawValue)"
        + (keyCount == 0 ? "" : " ORDER BY \(keyList)")
    }
  }

  /// The statements that write a row, whose values are `?1` and so on; none for bodies.
  var insertions: [String] {
    switch self {
    case .given:
      [
        """
        UPDATE ledger SET last_serial = ?1, last_client = ?2, last_lane = ?3, last_ending = ?4
        """
      ]
    case .lane:
      [
        """
        INSERT INTO lane (number, client, name, last_sequence, chain, \(Self.laneEnds)) \
        VALUES (?1, ?2, ?3, ?4, ?6, ?7, ?8, ?9, ?10)
        """,
        "INSERT INTO parked_lane SELECT ?1, ?5 WHERE ?5 IS NOT NULL",
      ]
    case .upstream: ["INSERT INTO upstream (number, name, start_paused) VALUES (?1, ?2, ?3)"]
    case .bodyChunk: []
    case .envelope: Self.envelopeInsertions
    case .formerKey: ["INSERT INTO coalesced_key (serial, revision, key) VALUES (?1, ?2, ?3)"]
    case .nameIndex: ["INSERT INTO coalesce_index (lane, key, serial) VALUES (?1, ?2, ?3)"]
    case .sequenceIndex:
      ["INSERT INTO sequence_index (lane, sequence, serial) VALUES (?1, ?2, ?3)"]
    case .moved: ["INSERT INTO moved (serial, place) VALUES (?1, ?2)"]
    case .eventOrigin: ["UPDATE event_origin SET origin = ?1"]
    case .receiptOrigin: ["UPDATE receipt_origin SET id = ?1"]
    case .client, .paused, .line, .ended, .attempt, .response, .keyIndex, .gap, .checksIn, .ending,
      .token, .audit, .operation, .history, .eventLog, .receipt, .laneLedger, .rememberedKey:
      ["INSERT INTO \(rawValue) (\(columnList)) VALUES (\(parameters))"]
    }
  }

  private var columnList: String { columns.map(\.name).joined(separator: ", ") }
  private var keyList: String { columns.prefix(keyCount).map(\.name).joined(separator: ", ") }
  private var parameters: String {
    columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
  }

  private static let laneEnds = StoreCounts.ends.map(\.column).joined(separator: ", ")

  /// Behind the columns: the checksum, and whether it waits.
  private static let envelopeSelection = """
    SELECT e.serial, e.id, e.client, e.lane, e.upstream, e.key, e.fingerprint, e.sequence, e.tag, \
    e.hold, e.not_before, e.expires_at, e.on_failure, e.has_references, e.coalesce_key, \
    e.revision, e.method, e.target, e.headers, e.body, f.name, f.bytes, f.checksum, \
    e.covered_digest, e.checksum, \
    EXISTS (SELECT 1 FROM line AS s WHERE s.serial = e.serial) \
    FROM envelope AS e LEFT JOIN body_file AS f ON f.serial = e.serial ORDER BY e.serial
    """

  /// Behind the columns: the checksum.
  private static let envelopeInsertions = [
    """
    INSERT INTO envelope (serial, id, client, lane, upstream, key, fingerprint, sequence, tag, \
    hold, not_before, expires_at, on_failure, has_references, coalesce_key, revision, method, \
    target, headers, body, covered_digest, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
    ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?24, ?25)
    """,
    """
    INSERT INTO body_file (serial, name, bytes, checksum) \
    SELECT ?1, lower(hex(?21)), ?22, ?23 WHERE ?21 IS NOT NULL
    """,
  ]
}
