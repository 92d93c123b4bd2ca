#if PostgreSQL
import Foundation
import RelayCore
import SQLite

@testable import SQLiteStore

/// A store in a folder that has a row in each table, and something in each column.
enum MovedContent {
  /// Tables that are not moved as they are, and why.
  static let apart: [String: String] = [
    "ended_log": "added up in the lanes",
    "quarantine": "a store with such envelopes is refused",
    "search_block": "made anew", "upload": "begun anew by its sender",
    "event_origin": "compared by the digest of the move alone: it is random",
    "receipt_origin": "compared by the digest of the move alone: it is random",
  ]

  static let bodyName = String(repeating: "0a1b2c3d", count: 4)
  static let body = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  private static let bodySum: Int64 = {
    var sum = Checksum()
    sum.add(field: body)
    return sum.value
  }()

  static func make(in folder: String) throws {
    let data = try DataFolder.claim(folder)
    try DatabaseFile.prepare(path: data.database, pageBytes: StoreTuning.pageBytes)
    try Data(body).write(to: URL(fileURLWithPath: "\(data.bodies)/\(bodyName)"))
    let connection = try Connection(path: data.database, access: .readWrite)
    try connection.execute("BEGIN")
    for statement in statements { try connection.execute(statement) }
    try connection.execute(
      """
      UPDATE line SET bytes = \(StoreCounts.lineBytes);
      UPDATE client SET lane_count = (SELECT count(*) FROM lane WHERE lane.client = client.number);
      UPDATE ledger SET (\(StoreCounts.columns)) = (\(StoreCounts.selection));
      COMMIT
      """)
    try sum(connection)
  }

  /// Gives each envelope its checksum.
  private static func sum(_ connection: borrowing Connection) throws {
    let columns = MovedTable.envelope.columns.count
    let row = try Statement(MovedTable.envelope.selection ?? "", on: connection)
    var sums: [(Int64, Int64)] = []
    while try row.step() {
      var values: MovedRow = (0..<Int32(columns)).map { column in
        switch MovedTable.envelope.columns[Int(column)].kind {
        case .int64, .int32, .int16, .flag: row.isNull(column) ? .null : .integer(row.int(column))
        case .text: row.isNull(column) ? .null : .text(row.text(column) ?? "")
        case .bytes, .uuid: row.isNull(column) ? .null : .bytes(row.bytes(column))
        }
      }
      if row.text(20) != nil { values[19] = .null }
      sums.append((row.int(0), try SQLiteRows.checksum(of: values)))
    }
    let update = try Statement("UPDATE envelope SET checksum = ? WHERE serial = ?", on: connection)
    for (serial, sum) in sums { try update.run(sum, serial) }
  }

  private static func id(_ serial: Int64) -> String {
    let id = EnvelopeID(
      serial: serial, acceptedAt: WallTime(millisecondsSinceEpoch: 1_800_000_000_000 + serial),
      random: 5)
    return "x'\(Hexadecimal.encode(id.bytes))'"
  }

  /// Of two clients: one that waits with everything, one that waits with nothing, one that is
  /// parked, and one that has ended.
  private static let statements = [
    "INSERT INTO client (number, name) VALUES (1, 'c-1'), (4, 'Käse \u{1F9C0}')",
    """
    INSERT INTO lane VALUES (2, 1, 'l-1', 9, 3, 4, 5, 6, x'0c'), \
    (3, 4, 'l-2', NULL, 0, 1, 0, 0, NULL);
    INSERT INTO parked_lane VALUES (2, 7)
    """,
    "INSERT INTO upstream (number, name, start_paused) VALUES (1, 'default', 0), (3, 'other', 1)",
    "INSERT INTO paused VALUES (0, 3), (1, 1), (2, 2)",
    """
    INSERT INTO envelope (serial, id, client, lane, upstream, key, fingerprint, sequence, tag, \
    hold, not_before, expires_at, on_failure, has_references, coalesce_key, revision, method, \
    target, headers, body) VALUES \
    (10, \(id(10)), 1, 2, 3, 'k-10', x'0102', 7, 'urgent', 1, 1800000000500, 1800009000000, 1, 1, \
    'state', 3, 'PUT', CAST('/a' AS BLOB), x'582d413a20620d0a', CAST('inside' AS BLOB)), \
    (11, \(id(11)), 4, 3, 1, NULL, x'', NULL, NULL, 0, NULL, 1800009000000, 0, 0, NULL, 0, 'POST', \
    CAST('/b' AS BLOB), x'', NULL), \
    (12, \(id(12)), 1, 2, 1, NULL, x'', 9, NULL, 0, NULL, 1800009000000, 0, 0, NULL, 0, 'POST', \
    CAST('/c' AS BLOB), x'', x''), \
    (13, \(id(13)), 1, 2, 1, 'k-13', x'03', NULL, NULL, 0, NULL, 1800009000000, 0, 0, NULL, 0, \
    'POST', CAST('/d' AS BLOB), x'', x'00ff')
    """,
    "INSERT INTO body_file VALUES (11, '\(bodyName)', \(body.count), \(bodySum))",
    """
    INSERT INTO line (serial, client, lane, upstream, accepted_at, expires_at, standing, \
    on_failure, due_at, attempts, in_doubt, refers, reason) VALUES \
    (10, 1, 2, 3, 1800000000010, 1800009000000, \(Standing.held.code), 1, 1800000000500, 2, 1, 1, \
    'it waits'), \
    (11, 4, 3, 1, 1800000000011, 1800009000000, \(Standing.queued.code), 0, NULL, 0, 0, 0, NULL), \
    (12, 1, 2, 1, 1800000000012, 1800009000000, \(Standing.parked.code), 0, NULL, 0, 0, 0, NULL)
    """,
    """
    INSERT INTO ended (serial, state, ended_at, attempts, in_doubt, reason, attempt_number, \
    attempt_started_at, attempt_duration_ms, attempt_outcome, attempt_status, attempt_error, \
    ending) VALUES (13, 2, 1800000000900, 3, 1, 'gave up', 3, 1800000000800, 12, 2, 422, 'no', 5)
    """,
    """
    INSERT INTO attempt VALUES (10, 1, 1800000000100, 9, 1, 503, 'busy'), \
    (10, 2, 1, 2, 3, NULL, NULL)
    """,
    "INSERT INTO response VALUES (13, 422, 1, x'582d413a20620d0a', x'aabb')",
    """
    INSERT INTO key_index VALUES (1, 'k-10', 10, NULL), (1, 'k-13', 13, NULL), \
    (1, 'k-9', 10, x'09')
    """,
    "INSERT INTO coalesced_key VALUES (10, 2, 'k-9')",
    """
    INSERT INTO remembered_key VALUES (x'0f', 1800000000500, x'10'), (zeroblob(16), 2, zeroblob(16))
    """,
    "INSERT INTO coalesce_index VALUES (2, 'state', 10)",
    "INSERT INTO sequence_index VALUES (2, 7, 10), (2, 9, 12)",
    "INSERT INTO gap VALUES (2, 1, 6, 1), (2, 8, 8, 0)",
    "INSERT INTO moved VALUES (5, 10)",
    "INSERT INTO checks_in VALUES (1, 1)",
    "INSERT INTO ending VALUES (1, 5, 13)",
    """
    INSERT INTO token VALUES \
    ('t-1', 0, 'c-1', zeroblob(32), 'spare', 1800000000000, 1800009000000, 1800019000000, \
    9000000, 3, 1800000000000, zeroblob(32), zeroblob(32), 1800008000000), \
    ('t-2', 1, NULL, zeroblob(32), NULL, 1800000000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    NULL)
    """,
    "INSERT INTO audit VALUES (1, 2, 'ada', 'steer', 'cancel', 'x', 1, 200, 'so')",
    """
    INSERT INTO operation (number, started_at, who, action, client, lane, upstream, tag, states, \
    matched, has_more, done, failed, state, ended_at, refusals, accepted_since, accepted_until, \
    ended_since, ended_until, status, reason, error_id, has_fresh_keys) VALUES (1, 2, 'ada', \
    'cancel', 'c-1', 'l-1', 'default', 'urgent', 'failed', 9, 1, 8, 1, 1, 3, 'r', 4, 5, 6, 7, 422, \
    'gave up', 'e', 1)
    """,
    "INSERT INTO history VALUES (0, 30000000, 1, 2, 3, 4, x''), (1, 30000000, 1, 1, 1, 1, x'')",
    "INSERT INTO event_log VALUES (4, 2, 30, x'0102'), (5, 3, 60, x'')",
    "UPDATE envelope SET covered_digest = x'0d' WHERE serial = 10",
    "INSERT INTO receipt VALUES (1, 2, x'7b7d', zeroblob(64)), (2, 3, x'7b20', zeroblob(32))",
    """
    INSERT INTO lane_ledger VALUES (1, 2, 1, 3, 10, x'0d', x'0e', 2, 422, x'0f', 5), \
    (2, 3, 1, 4, 11, x'0d', x'0e', NULL, NULL, NULL, NULL)
    """,
    """
    UPDATE ledger SET last_serial = 20, last_client = 6, last_lane = 8, last_ending = 5, \
    last_accepted_at = 1800000000900
    """,
  ]
}
#endif
