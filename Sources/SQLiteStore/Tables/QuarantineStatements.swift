import RelayCore

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
