import RelayCore

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
