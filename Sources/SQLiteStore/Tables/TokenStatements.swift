import RelayCore

/// The writer's statements on tokens, prepared once.
final class TokenStatements {
  let insert: Statement
  let delete: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insert = try Statement(
      """
      INSERT OR IGNORE INTO token (id, kind, client, digest, label, created_at, expires_at) \
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, on: connection)
    delete = try Statement("DELETE FROM token WHERE id = ?", on: connection)
  }
}

/// The readers' queries for tokens, prepared once.
final class TokenQueries {
  let all: Statement
  let ofClient: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    let columns = "id, kind, client, digest, label, created_at, expires_at"
    all = try Statement(
      "SELECT \(columns) FROM token WHERE id > ? ORDER BY id LIMIT ?", on: connection)
    ofClient = try Statement(
      "SELECT \(columns) FROM token WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
      on: connection)
  }
}
