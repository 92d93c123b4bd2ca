extension Migration {
  /// The pauses that are in force: an upstream, a client or a lane, by its number.
  static let migration0002 = Migration(
    version: 2,
    sql: """
      CREATE TABLE paused (
        kind INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (kind, number)
      ) STRICT, WITHOUT ROWID;
      """)
}
