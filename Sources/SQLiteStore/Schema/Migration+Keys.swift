extension Migration {
  /// Keys that are remembered longer than their envelopes.
  static let migration0022 = Migration(
    version: 22,
    sql: """
      -- digest: of the client's name and its key; fingerprint: the beginning of that of what was
      -- posted under it. Both as RememberedKey says. ended_at: when the envelope ended.
      CREATE TABLE remembered_key (
        digest BLOB PRIMARY KEY,
        ended_at INTEGER NOT NULL,
        fingerprint BLOB NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX remembered_key_ended ON remembered_key (ended_at);
      """)
}
