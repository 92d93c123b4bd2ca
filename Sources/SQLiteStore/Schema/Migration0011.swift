extension Migration {
  /// Waiting envelopes that cannot be read.
  ///
  /// `docs/decisions/0023-damaged-stores.md` says what happens to them.
  static let migration0011 = Migration(
    version: 11,
    sql: """
      -- Only for such: under which id each can be named, be it that its own cannot be read, and
      -- what else the line knew of it. Kept when it ends, as long as its own row is.
      CREATE TABLE quarantine (
        serial INTEGER PRIMARY KEY,
        id BLOB NOT NULL,
        client INTEGER NOT NULL,
        lane INTEGER NOT NULL,
        upstream INTEGER NOT NULL,
        accepted_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        on_failure INTEGER NOT NULL,
        quarantined_at INTEGER NOT NULL,
        reason TEXT NOT NULL
      ) STRICT;
      """)
}
