import RelayCore
import SQLite

/// A connection for reading, confined to one thread.
final class Reader {
  let connection: Connection
  let sql: ReaderStatements
  let listing: ListingStatements
  let events: EventStatements
  let numbers: NumberStatements
  let checkIn: CheckInQueries
  let quarantine: QuarantineStatements
  let tokens: TokenQueries
  let uploads: UploadQueries
  let audit: AuditQueries
  let history: HistoryQueries
  let operations: OperationQueries
  let names: NameQueries
  let forgetting: ForgettingQueries
  let receipts: ReceiptQueries
  let laneLedger: LaneLedgerQueries
  let rememberedKeys: RememberedKeyQueries
  let bodies: BodyFiles

  /// Opens a read-only connection to a prepared file.
  init(database: String, bodies: BodyFiles) throws(StoreError) {
    connection = try Connection(path: database, access: .readOnly)
    try DatabaseFile.configure(connection, cacheKiB: StoreTuning.readerCacheKiB)
    sql = try ReaderStatements(on: connection)
    listing = try ListingStatements(on: connection)
    events = try EventStatements(on: connection)
    numbers = try NumberStatements(on: connection)
    checkIn = try CheckInQueries(on: connection)
    quarantine = try QuarantineStatements(on: connection)
    tokens = try TokenQueries(on: connection)
    uploads = try UploadQueries(on: connection)
    audit = try AuditQueries(on: connection)
    history = try HistoryQueries(on: connection)
    operations = try OperationQueries(on: connection)
    names = try NameQueries(on: connection)
    forgetting = try ForgettingQueries(on: connection)
    receipts = try ReceiptQueries(on: connection)
    laneLedger = try LaneLedgerQueries(on: connection)
    rememberedKeys = try RememberedKeyQueries(on: connection)
    self.bodies = bodies
  }

  /// Reads several things as of one moment.
  func snapshot<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try sql.begin.run()
    do throws(StoreError) {
      let result = try body()
      do throws(StoreError) {
        try sql.commit.run()
      } catch  where error.kind == .corrupt {
        // It says so once more at the end of what met a damaged page and has made do without.
      }
      return result
    } catch {
      connection.rollBackIfOpen()
      throw error
    }
  }
}

/// The readers' statements, prepared once.
final class ReaderStatements {
  let begin: Statement
  let commit: Statement
  let line: Statement
  let lineBackwards: Statement
  let lineAt: Statement
  let lineCounted: Statement
  let lineOfClients: Statement
  let lastSerial: Statement
  let load: Statement
  let terms: Statement
  let bodyFile: Statement
  let identity: Statement
  let envelope: Statement
  let place: Statement
  let end: Statement
  let attempts: Statement
  let responseStatus: Statement
  let response: Statement
  let findClient: Statement
  let findKey: Statement
  let referenced: Statement
  let lanes: Statement
  let endedLog: Statement
  let clientName: Statement
  let laneName: Statement
  let upstreams: Statement
  let pauses: Statement

  private static let lineColumns = """
    serial, client, lane, upstream, accepted_at, expires_at, standing, on_failure, attempts, \
    due_at, in_doubt
    """

  init(on connection: borrowing Connection) throws(StoreError) {
    begin = try Statement("BEGIN", on: connection)
    commit = try Statement("COMMIT", on: connection)
    line = try Statement(
      "SELECT \(Self.lineColumns), bytes FROM line WHERE serial > ? ORDER BY serial LIMIT ?",
      on: connection)
    lineBackwards = try Statement(
      "SELECT \(Self.lineColumns) FROM line WHERE serial < ? ORDER BY serial DESC LIMIT ?",
      on: connection)
    lineAt = try Statement(
      "SELECT \(Self.lineColumns) FROM line WHERE serial = ?", on: connection)
    lineCounted = try Statement(
      """
      SELECT serial, lane, upstream, expires_at, standing, bytes, \
      CASE WHEN due_at IS NOT NULL AND attempts + in_doubt > 0 THEN due_at END, \
      client, accepted_at FROM line WHERE serial > ? AND serial <= ? ORDER BY serial LIMIT ?
      """, on: connection)
    lineOfClients = try Statement(
      "SELECT serial, client, lane FROM line WHERE serial > ? ORDER BY serial LIMIT ?",
      on: connection)
    lastSerial = try Statement(
      "SELECT last_serial FROM ledger WHERE number = 1", on: connection)
    load = try Statement(
      """
      SELECT e.id, c.name, e.key, e.method, e.target, e.headers, e.body, e.has_references, \
      e.revision, e.client, e.lane, l.upstream, e.checksum FROM line AS l \
      JOIN envelope AS e ON e.serial = l.serial JOIN client AS c ON c.number = e.client \
      WHERE l.serial = ?
      """, on: connection)
    terms = try Statement(
      """
      SELECT n.name, e.sequence, e.tag, e.coalesce_key FROM line AS l \
      JOIN envelope AS e ON e.serial = l.serial JOIN lane AS n ON n.number = e.lane \
      WHERE l.serial = ?
      """, on: connection)
    bodyFile = try Statement(
      "SELECT name, bytes, checksum FROM body_file WHERE serial = ?", on: connection)
    identity = try Statement("SELECT id FROM envelope WHERE serial = ?", on: connection)
    envelope = try Statement(
      """
      SELECT e.id, c.name, l.name, u.name, e.key, e.fingerprint, e.sequence, e.tag, e.hold, \
      e.not_before, e.expires_at, e.on_failure, e.method, e.target, e.headers, e.body, e.lane, \
      e.client, e.upstream, e.has_references, e.coalesce_key, e.revision, e.checksum \
      FROM envelope AS e JOIN client AS c ON c.number = e.client \
      JOIN lane AS l ON l.number = e.lane JOIN upstream AS u ON u.number = e.upstream \
      WHERE e.serial = ?
      """, on: connection)
    place = try Statement(
      "SELECT standing, due_at, attempts, reason, in_doubt FROM line WHERE serial = ?",
      on: connection)
    end = try Statement(
      """
      SELECT state, ended_at, attempts, reason, attempt_number, attempt_started_at, \
      attempt_duration_ms, attempt_outcome, attempt_status, attempt_error, in_doubt \
      FROM ended WHERE serial = ?
      """, on: connection)
    attempts = try Statement(
      """
      SELECT number, started_at, duration_ms, outcome, status, error FROM attempt \
      WHERE serial = ? ORDER BY number
      """, on: connection)
    responseStatus = try Statement("SELECT status FROM response WHERE serial = ?", on: connection)
    response = try Statement(
      "SELECT status, is_truncated, headers, body FROM response WHERE serial = ?", on: connection)
    findClient = try Statement("SELECT number FROM client WHERE name = ?", on: connection)
    findKey = try Statement(
      """
      SELECT e.id FROM client AS c JOIN key_index AS k ON k.client = c.number AND k.key = ? \
      JOIN envelope AS e ON e.serial = k.serial WHERE c.name = ?
      """, on: connection)
    referenced = try Statement(
      """
      SELECT e.id, e.lane = own.lane, e.serial FROM envelope AS own \
      JOIN key_index AS k ON k.client = own.client AND k.key = ? \
      JOIN envelope AS e ON e.serial = k.serial WHERE own.serial = ?
      """, on: connection)
    lanes = try Statement(
      """
      SELECT number, name, last_sequence, delivered, failed, expired, cancelled FROM lane \
      WHERE client = ? ORDER BY number LIMIT ?
      """, on: connection)
    endedLog = try Statement("SELECT entries FROM ended_log", on: connection)
    clientName = try Statement("SELECT name FROM client WHERE number = ?", on: connection)
    laneName = try Statement(
      """
      SELECT c.name, l.name FROM lane AS l JOIN client AS c ON c.number = l.client \
      WHERE l.number = ?
      """, on: connection)
    pauses = try Statement("SELECT kind, number FROM paused", on: connection)
    upstreams = try Statement("SELECT number, name FROM upstream", on: connection)
  }
}

/// The statements on envelopes that cannot be read, prepared once.
final class QuarantineStatements {
  let id: Statement
  let place: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    id = try Statement("SELECT id FROM quarantine WHERE serial = ?", on: connection)
    place = try Statement(
      """
      SELECT q.reason, q.client, c.name, q.lane, l.name, q.upstream, u.name, q.accepted_at, \
      q.expires_at, q.on_failure FROM quarantine AS q JOIN client AS c ON c.number = q.client \
      JOIN lane AS l ON l.number = q.lane JOIN upstream AS u ON u.number = q.upstream \
      WHERE q.serial = ?
      """, on: connection)
  }
}
