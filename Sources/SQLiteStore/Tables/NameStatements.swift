import RelayCore
import SQLite

/// The writer's statements on the names themselves, prepared once.
final class NameStatements {
  let laneCount: Statement
  let changeLaneCount: Statement
  let forgettableLane: Statement
  let forgettableClient: Statement
  let deleteLane: Statement
  let deleteClient: Statement
  let deleteCheckIn: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    laneCount = try Statement("SELECT lane_count FROM client WHERE number = ?", on: connection)
    changeLaneCount = try Statement(
      "UPDATE client SET lane_count = lane_count + ? WHERE number = ?", on: connection)
    forgettableLane = try Statement(
      """
      SELECT c.name, l.name, c.number FROM lane AS l JOIN client AS c ON c.number = l.client \
      WHERE l.number = ?1 AND l.last_sequence IS NULL AND l.delivered = 0 AND l.failed = 0 \
      AND l.expired = 0 AND l.cancelled = 0 \
      AND NOT EXISTS (SELECT 1 FROM paused WHERE kind = 2 AND number = ?1)
      """, on: connection)
    forgettableClient = try Statement(
      """
      SELECT name FROM client AS c WHERE number = ?1 \
      AND NOT EXISTS (SELECT 1 FROM lane WHERE client = ?1) \
      AND NOT EXISTS (SELECT 1 FROM paused WHERE kind = 1 AND number = ?1)
      """, on: connection)
    deleteLane = try Statement("DELETE FROM lane WHERE number = ?", on: connection)
    deleteClient = try Statement("DELETE FROM client WHERE number = ?", on: connection)
    deleteCheckIn = try Statement("DELETE FROM checks_in WHERE client = ?", on: connection)
  }
}

/// The readers' queries for lists of clients and lanes, prepared once.
final class NameQueries {
  let clients: Statement
  let lanesOfClient: Statement
  let lanes: Statement
  let lanesOfName: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    // Each walks an index or the table itself from the beginning of the page.
    clients = try Statement(
      "SELECT number, name FROM client WHERE name >= ? AND name < ? ORDER BY name LIMIT ?",
      on: connection)
    lanesOfClient = try Statement(
      "SELECT number FROM lane WHERE client = ? ORDER BY number LIMIT ?", on: connection)
    lanes = try Statement(
      """
      SELECT c.name, l.name, l.number FROM lane AS l CROSS JOIN client AS c ON c.number = l.client \
      WHERE l.number > ? ORDER BY l.number LIMIT ?
      """, on: connection)
    lanesOfName = try Statement(
      """
      SELECT c.name, l.name, l.number FROM client AS c CROSS JOIN lane AS l ON l.client = c.number \
      WHERE c.name = ? AND l.number > ? ORDER BY l.number LIMIT ?
      """, on: connection)
  }
}

/// The readers' queries for names that nothing refers to any more, prepared once.
final class ForgettingQueries {
  let lanes: Statement
  let clients: Statement
  let line: Statement
  let events: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    lanes = try Statement(
      """
      SELECT number, last_sequence IS NULL AND delivered = 0 AND failed = 0 AND expired = 0 \
      AND cancelled = 0 FROM lane WHERE number > ? AND number <= ? ORDER BY number LIMIT ?
      """, on: connection)
    clients = try Statement(
      """
      SELECT number, lane_count = 0 FROM client WHERE number > ? AND number <= ? \
      ORDER BY number LIMIT ?
      """, on: connection)
    line = try Statement(
      "SELECT serial, lane FROM line WHERE serial > ? ORDER BY serial LIMIT ?", on: connection)
    events = try Statement(
      "SELECT number, entries FROM event_log WHERE number >= ? ORDER BY number", on: connection)
  }
}
