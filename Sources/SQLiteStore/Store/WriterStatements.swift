import RelayCore
import SQLite

/// The writer's statements, prepared once.
final class WriterStatements {
  let begin: Statement
  let commit: Statement

  let insertEnvelope: Statement
  let insertLine: Statement
  let insertKey: Statement
  let insertBodyFile: Statement
  let findKey: Statement
  let findIdentity: Statement
  let findStanding: Statement
  let findEnd: Statement

  let findClient: Statement
  let insertClient: Statement
  let findLane: Statement
  let insertLane: Statement
  let insertUpstream: Statement
  let updateSequence: Statement

  let waiting: Statement
  let beginLine: Statement
  let retryLine: Statement
  let blockLine: Statement
  let deleteLine: Statement
  let insertEnded: Statement
  let insertAttempt: Statement
  let trimAttempts: Statement
  let insertResponse: Statement

  let releaseLine: Statement
  let spendHold: Statement
  let editLine: Statement
  let editEnvelope: Statement
  let requeueLine: Statement
  let renewDeadline: Statement
  let requeueAttempt: Statement
  let cancelEnded: Statement

  let coalescing: CoalescingStatements
  let names: NameStatements
  let lineRouting: Statement
  let tag: Statement

  let insertPause: Statement
  let deletePause: Statement
  let markStartPaused: Statement

  let nextEnded: Statement
  let deleted: Statement
  let isReferable: Statement
  let findBodyFile: Statement
  let deleteEnvelope: Statement
  let deleteEnded: Statement
  let deleteKey: Statement
  let deleteBodyFile: Statement
  let deleteAttempts: Statement
  let quarantine: Statement
  let release: Statement
  let deleteResponse: Statement

  let updateLedger: Statement
  let insertEndedLog: Statement
  let readEndedLog: Statement
  let clearEndedLog: Statement
  let addToLane: Statement

  let insertEvents: Statement
  let oldestEvents: Statement
  let forgetEvents: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    begin = try Statement("BEGIN IMMEDIATE", on: connection)
    commit = try Statement("COMMIT", on: connection)

    insertEnvelope = try Statement(
      """
      INSERT INTO envelope (serial, id, client, lane, upstream, key, fingerprint, sequence, tag, \
      hold, not_before, expires_at, on_failure, method, target, headers, body, has_references, \
      coalesce_key, checksum, covered_digest) \
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
    insertLine = try Statement(
      """
      INSERT INTO line (serial, client, lane, upstream, accepted_at, expires_at, standing, \
      on_failure, due_at, attempts, bytes, refers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)
      """, on: connection)
    insertKey = try Statement(
      "INSERT INTO key_index (client, key, serial) VALUES (?, ?, ?)", on: connection)
    insertBodyFile = try Statement(
      "INSERT INTO body_file (serial, name, bytes, checksum) VALUES (?, ?, ?, ?)", on: connection)
    findKey = try Statement(
      "SELECT serial, fingerprint FROM key_index WHERE client = ? AND key = ?", on: connection)
    findIdentity = try Statement(
      "SELECT id, fingerprint, key FROM envelope WHERE serial = ?", on: connection)
    findStanding = try Statement("SELECT standing FROM line WHERE serial = ?", on: connection)
    findEnd = try Statement(
      """
      SELECT state, attempts, ending, in_doubt, ended_at, attempt_number IS NOT NULL \
      FROM ended WHERE serial = ?
      """, on: connection)

    findClient = try Statement("SELECT number FROM client WHERE name = ?", on: connection)
    insertClient = try Statement(
      "INSERT INTO client (name, number) VALUES (?, ?)", on: connection)
    findLane = try Statement(
      "SELECT number, last_sequence FROM lane WHERE client = ? AND name = ?", on: connection)
    insertLane = try Statement(
      "INSERT INTO lane (client, name, number) VALUES (?, ?, ?)", on: connection)
    insertUpstream = try Statement(
      "INSERT INTO upstream (name) VALUES (?) RETURNING number", on: connection)
    updateSequence = try Statement(
      "UPDATE lane SET last_sequence = ? WHERE number = ?", on: connection)

    waiting = try Statement(
      "SELECT standing, attempts, client, in_doubt, bytes FROM line WHERE serial = ?",
      on: connection)
    beginLine = try Statement("UPDATE line SET in_doubt = 1 WHERE serial = ?", on: connection)
    retryLine = try Statement(
      """
      UPDATE line SET standing = 0, due_at = ?, attempts = ?, reason = ?4, \
      in_doubt = (?4 IS NOT NULL) WHERE serial = ?3
      """, on: connection)
    blockLine = try Statement(
      """
      UPDATE line SET standing = 2, reason = ?, due_at = NULL, attempts = ?, in_doubt = 0 \
      WHERE serial = ?
      """, on: connection)
    deleteLine = try Statement("DELETE FROM line WHERE serial = ?", on: connection)
    insertEnded = try Statement(
      "INSERT INTO ended VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", on: connection)
    insertAttempt = try Statement(
      "INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?)", on: connection)
    trimAttempts = try Statement(
      "DELETE FROM attempt WHERE serial = ? AND number <= ?", on: connection)
    insertResponse = try Statement(
      "INSERT OR REPLACE INTO response VALUES (?, ?, ?, ?, ?)", on: connection)

    releaseLine = try Statement(
      """
      UPDATE line SET standing = 0, due_at = NULL, \
      reason = CASE in_doubt WHEN 0 THEN NULL ELSE reason END WHERE serial = ?
      """, on: connection)
    spendHold = try Statement("UPDATE envelope SET hold = 0 WHERE serial = ?", on: connection)
    editLine = try Statement(
      """
      UPDATE line SET upstream = ?, expires_at = ?, standing = ?, on_failure = ?, due_at = ?, \
      in_doubt = 0, bytes = ?, refers = ? WHERE serial = ?
      """, on: connection)
    editEnvelope = try Statement(
      """
      UPDATE envelope SET upstream = ?, tag = ?, hold = ?, not_before = ?, expires_at = ?, \
      on_failure = ?, method = ?, target = ?, headers = ?, body = ?, has_references = ?12, \
      checksum = ?13 WHERE serial = ?11
      """, on: connection)
    requeueLine = try Statement(
      """
      INSERT INTO line (serial, client, lane, upstream, accepted_at, expires_at, standing, \
      on_failure, due_at, attempts, in_doubt, bytes, refers) \
      SELECT serial, client, lane, upstream, ?2, ?3, ?5, on_failure, ?6, ?4, ?7, \
      length(target) + length(headers) + coalesce(length(body), 0) \
      + coalesce((SELECT bytes FROM body_file WHERE serial = ?1), 0), \
      has_references FROM envelope WHERE serial = ?1 RETURNING bytes
      """, on: connection)
    renewDeadline = try Statement(
      "UPDATE envelope SET expires_at = ? WHERE serial = ?", on: connection)
    requeueAttempt = try Statement(
      """
      INSERT OR REPLACE INTO attempt SELECT serial, attempt_number, attempt_started_at, \
      attempt_duration_ms, attempt_outcome, attempt_status, attempt_error \
      FROM ended WHERE serial = ? AND attempt_number IS NOT NULL
      """, on: connection)

    cancelEnded = try Statement(
      "UPDATE ended SET state = ?, ended_at = ?, reason = ?, ending = ? WHERE serial = ?",
      on: connection)

    coalescing = try CoalescingStatements(on: connection)
    names = try NameStatements(on: connection)
    lineRouting = try Statement(
      "SELECT lane, upstream, standing, accepted_at FROM line WHERE serial = ?", on: connection)
    tag = try Statement("SELECT tag FROM envelope WHERE serial = ?", on: connection)

    insertPause = try Statement("INSERT OR IGNORE INTO paused VALUES (?, ?)", on: connection)
    markStartPaused = try Statement(
      "UPDATE upstream SET start_paused = 1 WHERE number = ? AND start_paused = 0", on: connection)
    deletePause = try Statement(
      "DELETE FROM paused WHERE kind = ? AND number = ?", on: connection)

    nextEnded = try Statement(
      """
      SELECT serial, state, ended_at, ending, attempt_number IS NOT NULL FROM ended \
      WHERE serial >= ? ORDER BY serial LIMIT 1
      """, on: connection)
    deleted = try Statement(
      """
      SELECT client, lane, key, length(target) + length(headers) + coalesce(length(body), 0), \
      sequence, id, coalesce_key, revision, upstream FROM envelope WHERE serial = ?
      """, on: connection)
    isReferable = try Statement(
      """
      SELECT 1 FROM line INDEXED BY line_refers WHERE refers = 1 \
      AND (serial > ?1 OR standing = 3) \
      AND lane = (SELECT lane FROM envelope WHERE serial = ?1 AND (key IS NOT NULL \
      OR EXISTS (SELECT 1 FROM coalesced_key WHERE serial = ?1))) LIMIT 1
      """, on: connection)
    findBodyFile = try Statement(
      "SELECT name, bytes FROM body_file WHERE serial = ?", on: connection)
    deleteEnvelope = try Statement("DELETE FROM envelope WHERE serial = ?", on: connection)
    deleteEnded = try Statement("DELETE FROM ended WHERE serial = ?", on: connection)
    deleteKey = try Statement(
      "DELETE FROM key_index WHERE client = ? AND key = ?", on: connection)
    deleteBodyFile = try Statement("DELETE FROM body_file WHERE serial = ?", on: connection)
    quarantine = try Statement(
      """
      INSERT OR REPLACE INTO quarantine SELECT serial, ?, client, lane, upstream, accepted_at, \
      expires_at, on_failure, ?, ? FROM line WHERE serial = ?
      """, on: connection)
    release = try Statement("DELETE FROM quarantine WHERE serial = ?", on: connection)
    deleteAttempts = try Statement("DELETE FROM attempt WHERE serial = ?", on: connection)
    deleteResponse = try Statement("DELETE FROM response WHERE serial = ?", on: connection)

    updateLedger = try Statement(Ledger.update, on: connection)
    insertEndedLog = try Statement("INSERT INTO ended_log (entries) VALUES (?)", on: connection)
    readEndedLog = try Statement("SELECT entries FROM ended_log", on: connection)
    clearEndedLog = try Statement("DELETE FROM ended_log", on: connection)
    addToLane = try Statement(
      """
      UPDATE lane SET delivered = delivered + ?, failed = failed + ?, expired = expired + ?, \
      cancelled = cancelled + ? WHERE number = ?
      """, on: connection)

    insertEvents = try Statement(
      "INSERT INTO event_log (number, at, bytes_through, entries) VALUES (?, ?, ?, ?)",
      on: connection)
    oldestEvents = try Statement(
      """
      SELECT number, at, bytes_through FROM event_log WHERE number < ? ORDER BY number LIMIT ?
      """, on: connection)
    forgetEvents = try Statement("DELETE FROM event_log WHERE number <= ?", on: connection)
  }
}

/// The writer's statements for a post that replaces a waiting envelope's content.
final class CoalescingStatements {
  let find: Statement
  let index: Statement
  let place: Statement
  let envelope: Statement
  let renew: Statement
  let keepFingerprint: Statement
  let keepKey: Statement
  let keysThrough: Statement
  let forgetKeys: Statement
  let forgetIndex: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    find = try Statement(
      "SELECT serial FROM coalesce_index WHERE lane = ? AND key = ?", on: connection)
    index = try Statement("INSERT OR REPLACE INTO coalesce_index VALUES (?, ?, ?)", on: connection)
    place = try Statement(
      """
      SELECT upstream, accepted_at, expires_at, standing, on_failure, due_at, attempts, in_doubt \
      FROM line WHERE serial = ?
      """, on: connection)
    envelope = try Statement(
      "SELECT id, key, fingerprint, not_before, revision FROM envelope WHERE serial = ?",
      on: connection)
    renew = try Statement(
      "UPDATE envelope SET key = ?, fingerprint = ?, revision = ? WHERE serial = ?",
      on: connection)
    keepFingerprint = try Statement(
      "UPDATE key_index SET fingerprint = ? WHERE client = ? AND key = ?", on: connection)
    keepKey = try Statement("INSERT INTO coalesced_key VALUES (?, ?, ?)", on: connection)
    keysThrough = try Statement(
      "SELECT key FROM coalesced_key WHERE serial = ? AND revision <= ?", on: connection)
    forgetKeys = try Statement(
      "DELETE FROM coalesced_key WHERE serial = ? AND revision <= ?", on: connection)
    forgetIndex = try Statement(
      "DELETE FROM coalesce_index WHERE lane = ? AND key = ? AND serial = ?", on: connection)
  }
}
