import RelayCore
import SQLite

/// The statements of an outbox, prepared once.
final class OutboxStatements {
  let begin: Statement
  let commit: Statement
  let beginPart: Statement
  let keepPart: Statement
  let readMeta: Statement
  let writeMeta: Statement
  let readLanes: Statement
  let writeLane: Statement
  let insertItem: Statement
  let insertContent: Statement
  let readContent: Statement
  let updateRequest: Statement
  let deleteContent: Statement
  let updateItem: Statement
  let sealItem: Statement
  let handItem: Statement
  let forgetCommand: Statement
  let deleteItem: Statement
  let itemByID: Statement
  let itemByKey: Statement
  let itemByNumber: Statement
  let line: Statement
  let newest: Statement
  let coalesced: Statement
  let items: Statement
  let itemsOfLane: Statement
  let itemsOfTag: Statement
  let attention: Statement
  let attentionCount: Statement
  let attentionOfLane: Statement
  let oldest: Statement
  let expired: Statement
  let nextDeadline: Statement
  let ofFormerBoots: Statement
  let rebase: Statement
  let lowestNumber: Statement
  let fileNames: Statement
  let handed: Statement
  let insertEnding: Statement
  let endingByID: Statement
  let endingByKey: Statement
  let nextEnding: Statement
  let oldestEndings: Statement
  let deleteEnding: Statement
  let endingCount: Statement
  let insertVoid: Statement
  let deleteVoid: Statement
  let voids: Statement
  let voidsWithin: Statement
  let insertDigest: Statement
  let hasDigest: Statement
  let digests: Statement
  let deleteDigest: Statement
  let deleteDigests: Statement
  let deleteAllDigests: Statement
  let storeReceipt: Statement
  let readReceipts: Statement
  let formerReceipts: Statement
  let forgetReceipt: Statement
  let readKept: Statement
  let writeKept: Statement
  let handedWithin: Statement
  let insertUnproven: Statement
  let isUnproven: Statement
  let deleteUnproven: Statement
  let unproven: Statement
  let unhandedBelow: Statement
  let insertNamed: Statement
  let updateNamed: Statement
  let readNamed: Statement
  let deleteNamed: Statement
  let insertPage: Statement
  let newestPage: Statement
  let allPages: Statement
  let insertProof: Statement
  let proofs: Statement
  let pageOfProof: Statement
  let deleteProof: Statement
  let pages: Statement
  let lastOnPages: Statement
  let forgetPages: Statement

  /// The columns of a ``KeptItem``, in the order in which they are read.
  private static let columns = """
    id, lane, state, handed, sequence, key, tag, coalesce, body_kind, body_bytes, bytes, wall, \
    monotonic, boot, expires, not_before, on_refusal, attempts, relay_id, error_id, error, \
    refuser, command, upload, user_data, relay_lane, answers
    """

  /// The columns of a ``KeptEnding``, in the order in which they are read.
  private static let endingColumns = """
    id, key, lane, tag, sequence, kind, status, headers, body, cut, error_id, error, attempts, \
    bytes, wall, user_data
    """

  init(_ connection: borrowing Connection) throws(StoreError) {
    func select(_ rest: String) -> String { "SELECT \(Self.columns) FROM item \(rest)" }
    begin = try Statement("BEGIN IMMEDIATE", on: connection)
    commit = try Statement("COMMIT", on: connection)
    beginPart = try Statement("SAVEPOINT part", on: connection)
    keepPart = try Statement("RELEASE part", on: connection)
    readMeta = try Statement("SELECT value FROM meta WHERE name = ?1", on: connection)
    writeMeta = try Statement(
      "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)", on: connection)
    readLanes = try Statement(
      "SELECT id, name, next, items, bytes, line, paused FROM lane", on: connection)
    writeLane = try Statement(
      """
      INSERT OR REPLACE INTO lane (id, name, next, items, bytes, line, paused)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      """, on: connection)
    let places = (1...27).map { "?\($0)" }.joined(separator: ", ")
    insertItem = try Statement(
      "INSERT INTO item (\(Self.columns)) VALUES (\(places))", on: connection)
    insertContent = try Statement(
      "INSERT INTO content (id, request, body) VALUES (?1, ?2, ?3)", on: connection)
    readContent = try Statement("SELECT request, body FROM content WHERE id = ?1", on: connection)
    updateRequest = try Statement(
      "UPDATE content SET request = ?2, body = ?3 WHERE id = ?1", on: connection)
    deleteContent = try Statement("DELETE FROM content WHERE id = ?1", on: connection)
    updateItem = try Statement(
      """
      UPDATE item SET state = ?2, handed = ?3, sequence = ?4, attempts = ?5, relay_id = ?6,
        error_id = ?7, error = ?8, refuser = ?9, upload = ?10, body_kind = ?11, body_bytes = ?12,
        bytes = ?13, expires = ?14, coalesce = ?15, on_refusal = ?16, relay_lane = ?17,
        answers = ?18
      WHERE id = ?1
      """, on: connection)
    sealItem = try Statement(
      """
      UPDATE item SET state = ?2, sequence = ?3, attempts = ?4, on_refusal = ?5, relay_lane = ?6
      WHERE id = ?1
      """, on: connection)
    handItem = try Statement(
      """
      UPDATE item SET state = ?2, handed = 1, relay_id = ?3, upload = NULL, body_kind = ?4,
        body_bytes = ?5, bytes = ?6
      WHERE id = ?1
      """, on: connection)
    forgetCommand = try Statement("UPDATE item SET command = NULL WHERE id = ?1", on: connection)
    deleteItem = try Statement("DELETE FROM item WHERE id = ?1", on: connection)
    itemByID = try Statement(select("WHERE id = ?1"), on: connection)
    itemByKey = try Statement(select("WHERE key = ?1"), on: connection)
    itemByNumber = try Statement(select("WHERE lane = ?1 AND sequence = ?2"), on: connection)
    line = try Statement(
      select("WHERE lane = ?1 AND handed = 0 AND id > ?2 ORDER BY id LIMIT ?3"), on: connection)
    newest = try Statement(
      select("WHERE lane = ?1 AND handed = 0 AND id < ?2 ORDER BY id DESC LIMIT ?3"),
      on: connection)
    coalesced = try Statement(
      select("WHERE lane = ?1 AND coalesce = ?2 AND state < 3 LIMIT 1"), on: connection)
    items = try Statement(select("WHERE id > ?1 ORDER BY id LIMIT ?2"), on: connection)
    itemsOfLane = try Statement(
      select("WHERE lane = ?1 AND id > ?2 ORDER BY id LIMIT ?3"), on: connection)
    itemsOfTag = try Statement(
      select("WHERE tag = ?1 AND id > ?2 ORDER BY id LIMIT ?3"), on: connection)
    attention = try Statement(
      select("WHERE state > 4 AND id > ?1 ORDER BY id LIMIT ?2"), on: connection)
    attentionCount = try Statement("SELECT count(*) FROM item WHERE state > 4", on: connection)
    attentionOfLane = try Statement(
      select("WHERE state > 4 AND lane = ?1 ORDER BY id LIMIT 1"), on: connection)
    oldest = try Statement("SELECT wall FROM item ORDER BY id LIMIT 1", on: connection)
    expired = try Statement(
      select(
        """
        WHERE expires IS NOT NULL AND handed = 0 AND state <> 3 AND boot = ?1
          AND monotonic + expires <= ?2
        ORDER BY monotonic + expires LIMIT ?3
        """), on: connection)
    nextDeadline = try Statement(
      """
      SELECT min(monotonic + expires) FROM item
      WHERE expires IS NOT NULL AND handed = 0 AND state <> 3 AND boot = ?1
      """, on: connection)
    ofFormerBoots = try Statement(
      select(
        "WHERE expires IS NOT NULL AND handed = 0 AND state <> 3 AND boot < ?1 LIMIT ?2"),
      on: connection)
    rebase = try Statement(
      "UPDATE item SET boot = ?2, monotonic = ?3 WHERE id = ?1", on: connection)
    handed = try Statement(
      select("WHERE lane = ?1 AND handed = 1 AND id > ?2 ORDER BY id LIMIT 1"), on: connection)
    fileNames = try Statement(
      "SELECT body FROM content WHERE id IN (SELECT id FROM item WHERE body_kind = 2)",
      on: connection)
    lowestNumber = try Statement(
      "SELECT min(sequence) FROM item WHERE lane = ?1 AND sequence IS NOT NULL", on: connection)
    let endingPlaces = (1...16).map { "?\($0)" }.joined(separator: ", ")
    insertEnding = try Statement(
      "INSERT OR REPLACE INTO ending (\(Self.endingColumns)) VALUES (\(endingPlaces))",
      on: connection)
    endingByID = try Statement(
      "SELECT \(Self.endingColumns) FROM ending WHERE id = ?1", on: connection)
    nextEnding = try Statement(
      "SELECT \(Self.endingColumns) FROM ending WHERE id > ?1 ORDER BY id LIMIT 1", on: connection)
    endingByKey = try Statement(
      "SELECT \(Self.endingColumns) FROM ending WHERE key = ?1", on: connection)
    oldestEndings = try Statement(
      """
      SELECT id, lane, sequence FROM ending WHERE id NOT IN (SELECT id FROM item)
      ORDER BY id LIMIT ?1
      """, on: connection)
    deleteEnding = try Statement("DELETE FROM ending WHERE id = ?1", on: connection)
    insertVoid = try Statement(
      "INSERT OR IGNORE INTO void_number (lane, sequence) VALUES (?1, ?2)", on: connection)
    deleteVoid = try Statement(
      "DELETE FROM void_number WHERE lane = ?1 AND sequence = ?2", on: connection)
    voids = try Statement(
      "SELECT lane, sequence FROM void_number ORDER BY lane, sequence LIMIT ?1", on: connection)
    voidsWithin = try Statement(
      "SELECT 1 FROM void_number WHERE lane = ?1 AND sequence > ?2 AND sequence <= ?3 LIMIT 1",
      on: connection)
    insertDigest = try Statement(
      "INSERT OR REPLACE INTO item_digest (lane, sequence, digest) VALUES (?1, ?2, ?3)",
      on: connection)
    hasDigest = try Statement(
      "SELECT 1 FROM item_digest WHERE lane = ?1 AND sequence = ?2", on: connection)
    digests = try Statement(
      """
      SELECT sequence, digest FROM item_digest
      WHERE lane = ?1 AND sequence > ?2 AND sequence <= ?3 ORDER BY sequence
      """, on: connection)
    deleteDigest = try Statement(
      "DELETE FROM item_digest WHERE lane = ?1 AND sequence = ?2", on: connection)
    deleteDigests = try Statement(
      "DELETE FROM item_digest WHERE lane = ?1 AND sequence <= ?2", on: connection)
    deleteAllDigests = try Statement("DELETE FROM item_digest", on: connection)
    storeReceipt = try Statement(
      """
      INSERT OR REPLACE INTO receipt (lane, ordinal, open, checked_from, json)
      VALUES (?1, ?2, ?3, ?4, ?5)
      """, on: connection)
    readReceipts = try Statement(
      "SELECT lane, ordinal, open, checked_from, json FROM receipt ORDER BY lane, ordinal",
      on: connection)
    formerReceipts = try Statement(
      """
      SELECT lane, ordinal, open, checked_from, json FROM receipt
      WHERE lane = ?1 AND ordinal <= ?2 ORDER BY ordinal
      """, on: connection)
    forgetReceipt = try Statement(
      "DELETE FROM receipt WHERE lane = ?1 AND ordinal = ?2", on: connection)
    readKept = try Statement("SELECT lane, kept_through FROM custody", on: connection)
    writeKept = try Statement(
      "INSERT OR REPLACE INTO custody (lane, kept_through) VALUES (?1, ?2)", on: connection)
    handedWithin = try Statement(
      select(
        """
        WHERE lane = ?1 AND sequence > ?2 AND sequence <= ?3 AND handed = 1
        ORDER BY sequence LIMIT ?4
        """), on: connection)
    // Those that are not signed yet have their items still.
    endingCount = try Statement(
      "SELECT (SELECT count(*) FROM ending) - (SELECT count(*) FROM unproven)", on: connection)
    insertUnproven = try Statement(
      "INSERT OR IGNORE INTO unproven (lane, sequence) VALUES (?1, ?2)", on: connection)
    isUnproven = try Statement(
      "SELECT 1 FROM unproven WHERE lane = ?1 AND sequence = ?2", on: connection)
    deleteUnproven = try Statement(
      "DELETE FROM unproven WHERE lane = ?1 AND sequence = ?2", on: connection)
    unproven = try Statement(
      "SELECT sequence FROM unproven WHERE lane = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
      on: connection)
    unhandedBelow = try Statement(
      "SELECT 1 FROM item WHERE lane = ?1 AND handed = 0 AND sequence < ?2 LIMIT 1",
      on: connection)
    insertNamed = try Statement(
      "INSERT OR REPLACE INTO named (id, first, latest) VALUES (?1, ?2, ?2)", on: connection)
    updateNamed = try Statement("UPDATE named SET latest = ?2 WHERE id = ?1", on: connection)
    readNamed = try Statement("SELECT first, latest FROM named WHERE id = ?1", on: connection)
    deleteNamed = try Statement("DELETE FROM named WHERE id = ?1", on: connection)
    insertPage = try Statement(
      "INSERT INTO ledger_page (id, lane, first, last, body) VALUES (?1, ?2, ?3, ?4, ?5)",
      on: connection)
    newestPage = try Statement("SELECT max(id) FROM ledger_page", on: connection)
    allPages = try Statement("SELECT id, lane, body FROM ledger_page ORDER BY id", on: connection)
    insertProof = try Statement(
      "INSERT OR REPLACE INTO proof (item, page) VALUES (?1, ?2)", on: connection)
    proofs = try Statement("SELECT item, page FROM proof", on: connection)
    pageOfProof = try Statement(
      "SELECT body FROM ledger_page WHERE id = (SELECT page FROM proof WHERE item = ?1)",
      on: connection)
    deleteProof = try Statement("DELETE FROM proof WHERE item = ?1", on: connection)
    pages = try Statement(
      """
      SELECT body FROM ledger_page
      WHERE lane = ?1 AND last >= ?2 AND first <= ?3 ORDER BY id
      """, on: connection)
    lastOnPages = try Statement(
      "SELECT max(last) FROM ledger_page WHERE lane = ?1", on: connection)
    forgetPages = try Statement(
      """
      DELETE FROM ledger_page WHERE lane = ?1 AND last <= ?2
        AND NOT EXISTS (SELECT 1 FROM proof WHERE page = ledger_page.id)
      """, on: connection)
  }
}
