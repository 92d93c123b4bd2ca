import RelayCore
import SQLite

/// The writer's statements for clients that check in, prepared once.
final class CheckInStatements {
  let register: Statement
  let setFilled: Statement
  let number: Statement
  let insert: Statement
  let forget: Statement
  let forgetThrough: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    // A client that was forgotten since it was looked up has nothing to be told.
    register = try Statement(
      "INSERT OR IGNORE INTO checks_in SELECT number, 0 FROM client WHERE number = ?",
      on: connection)
    setFilled = try Statement(
      "UPDATE checks_in SET is_filled = 1 WHERE client = ?", on: connection)
    number = try Statement(
      "UPDATE ended SET ending = ? WHERE serial = ? AND ending IS NULL RETURNING 1",
      on: connection)
    insert = try Statement("INSERT INTO ending VALUES (?, ?, ?)", on: connection)
    forget = try Statement("DELETE FROM ending WHERE client = ? AND number = ?", on: connection)
    forgetThrough = try Statement(
      "DELETE FROM ending WHERE client = ? AND number <= ?", on: connection)
  }
}

/// The readers' queries for clients that check in, prepared once.
final class CheckInQueries {
  let standing: Statement
  let recentlyEnded: Statement
  let endings: Statement
  let lastEnding: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    standing = try Statement(
      """
      SELECT c.number, k.is_filled, \
      EXISTS (SELECT 1 FROM ending AS e WHERE e.client = c.number AND e.number <= ?) \
      FROM client AS c LEFT JOIN checks_in AS k ON k.client = c.number WHERE c.name = ?
      """, on: connection)
    recentlyEnded = try Statement(
      """
      SELECT d.serial FROM \
      (SELECT serial, ending FROM ended ORDER BY serial DESC LIMIT ?) AS d \
      JOIN envelope AS e ON e.serial = d.serial \
      WHERE d.ending IS NULL AND e.client = ? ORDER BY d.serial
      """, on: connection)
    endings = try Statement(
      """
      SELECT n.number, e.id, l.name, e.key, e.sequence, d.state, d.ended_at, d.attempts, \
      d.reason, r.status FROM ending AS n JOIN envelope AS e ON e.serial = n.serial \
      JOIN lane AS l ON l.number = e.lane JOIN ended AS d ON d.serial = n.serial \
      LEFT JOIN response AS r ON r.serial = n.serial \
      WHERE n.client = ? AND n.number > ? ORDER BY n.number LIMIT ?
      """, on: connection)
    lastEnding = try Statement(
      "SELECT last_ending FROM ledger WHERE number = 1", on: connection)
  }
}
