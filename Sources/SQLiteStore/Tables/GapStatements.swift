import RelayCore
import SQLite

/// The writer's statements on sequence numbers, prepared once.
final class GapStatements {
  let findNumber: Statement
  let insertNumber: Statement
  let moveNumber: Statement
  let deleteNumber: Statement

  let findGap: Statement
  let insertGap: Statement
  let insertVoid: Statement
  let endGap: Statement
  let deleteGap: Statement
  let openGaps: Statement
  let skipGaps: Statement

  let placedThrough: Statement
  let setPlacedThrough: Statement
  let deleteParkedLane: Statement
  let parkedLanes: Statement
  let highest: Statement

  let parked: Statement
  let moveLine: Statement
  let noteReason: Statement
  let moveEnded: Statement
  let moveEnding: Statement
  let moveEnvelope: Statement
  let moveKey: Statement
  let moveBodyFile: Statement
  let findMoved: Statement
  let insertMoved: Statement
  let deleteMoved: Statement
  let findNumbered: Statement

  /// The ranges of numbers that a lane waits for, lowest first, after the number up to which
  /// everything is in line.
  static let openGapsSQL = """
    SELECT first, last FROM gap WHERE lane = ? AND first > ? AND is_skipped = 0 \
    ORDER BY first LIMIT ?
    """
  /// The present number of a parked envelope, by the number in its id.
  static let movedSQL = "SELECT place FROM moved WHERE serial = ?"
  static let placedThroughSQL = "SELECT placed_through FROM parked_lane WHERE lane = ?"

  init(on connection: borrowing Connection) throws(StoreError) {
    findNumber = try Statement(
      "SELECT serial FROM sequence_index WHERE lane = ? AND sequence = ?", on: connection)
    insertNumber = try Statement("INSERT INTO sequence_index VALUES (?, ?, ?)", on: connection)
    moveNumber = try Statement(
      "UPDATE sequence_index SET serial = ? WHERE lane = ? AND sequence = ?", on: connection)
    deleteNumber = try Statement(
      "DELETE FROM sequence_index WHERE lane = ? AND sequence = ?", on: connection)

    findGap = try Statement(
      """
      SELECT first, last, is_skipped FROM gap WHERE lane = ? AND first <= ? \
      ORDER BY first DESC LIMIT 1
      """, on: connection)
    insertGap = try Statement("INSERT INTO gap VALUES (?, ?, ?, 0)", on: connection)
    insertVoid = try Statement("INSERT INTO gap VALUES (?1, ?2, ?2, 1)", on: connection)
    endGap = try Statement(
      "UPDATE gap SET last = ? WHERE lane = ? AND first = ?", on: connection)
    deleteGap = try Statement("DELETE FROM gap WHERE lane = ? AND first = ?", on: connection)
    openGaps = try Statement(Self.openGapsSQL, on: connection)
    skipGaps = try Statement(
      "UPDATE gap SET is_skipped = 1 WHERE lane = ? AND first > ? AND first < ?", on: connection)

    placedThrough = try Statement(Self.placedThroughSQL, on: connection)
    setPlacedThrough = try Statement(
      "INSERT OR REPLACE INTO parked_lane VALUES (?, ?)", on: connection)
    deleteParkedLane = try Statement("DELETE FROM parked_lane WHERE lane = ?", on: connection)
    parkedLanes = try Statement("SELECT lane FROM parked_lane", on: connection)
    highest = try Statement("SELECT last_sequence FROM lane WHERE number = ?", on: connection)

    parked = try Statement(
      """
      SELECT client, lane, upstream, accepted_at, expires_at, on_failure, due_at, attempts \
      FROM line WHERE serial = ?
      """, on: connection)
    moveLine = try Statement(
      "UPDATE line SET serial = ?, standing = ?, reason = NULL WHERE serial = ?", on: connection)
    noteReason = try Statement("UPDATE line SET reason = ? WHERE serial = ?", on: connection)
    moveEnded = try Statement(
      "UPDATE ended SET serial = ? WHERE serial = ? RETURNING ending", on: connection)
    moveEnding = try Statement(
      "UPDATE ending SET serial = ? WHERE client = ? AND number = ?", on: connection)
    // `typeof` rather than `body IS NULL`, which SQLite 3.40 may get wrong in what is returned.
    moveEnvelope = try Statement(
      """
      UPDATE envelope SET serial = ? WHERE serial = ? \
      RETURNING id, client, key, hold, typeof(body), tag
      """, on: connection)
    moveKey = try Statement(
      "UPDATE key_index SET serial = ? WHERE client = ? AND key = ?", on: connection)
    moveBodyFile = try Statement(
      "UPDATE body_file SET serial = ? WHERE serial = ?", on: connection)
    findMoved = try Statement(Self.movedSQL, on: connection)
    insertMoved = try Statement("INSERT INTO moved VALUES (?, ?)", on: connection)
    deleteMoved = try Statement("DELETE FROM moved WHERE serial = ?", on: connection)
    findNumbered = try Statement(
      "SELECT lane, sequence FROM envelope WHERE serial = ?", on: connection)
  }
}

/// A reader's statements on sequence numbers and parked envelopes, prepared once.
final class NumberStatements {
  let moved: Statement
  let openGaps: Statement
  let skippedGaps: Statement
  let placedThrough: Statement
  let dueThrough: Statement
  let waitingSince: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    moved = try Statement(GapStatements.movedSQL, on: connection)
    openGaps = try Statement(GapStatements.openGapsSQL, on: connection)
    skippedGaps = try Statement(
      """
      SELECT first, last FROM gap WHERE lane = ? AND is_skipped = 1 ORDER BY first DESC LIMIT ?
      """, on: connection)
    placedThrough = try Statement(GapStatements.placedThroughSQL, on: connection)
    dueThrough = try Statement(
      """
      SELECT max(n.sequence) FROM sequence_index AS n JOIN line AS l ON l.serial = n.serial \
      WHERE n.lane = ? AND n.sequence > ? AND (l.accepted_at <= ? OR l.accepted_at > ?)
      """, on: connection)
    waitingSince = try Statement(
      """
      SELECT min(l.accepted_at) FROM sequence_index AS n JOIN line AS l ON l.serial = n.serial \
      WHERE n.lane = ? AND n.sequence > ?
      """, on: connection)
  }
}
