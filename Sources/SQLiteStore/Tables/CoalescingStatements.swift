import RelayCore

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
