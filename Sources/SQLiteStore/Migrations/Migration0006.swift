extension Migration {
  /// Whether the upstream may have an envelope already, so that it must not be sent again before
  /// that is known: while it waits, and once it has ended, since it may be requeued.
  static let migration0006 = Migration(
    version: 6,
    sql: """
      ALTER TABLE line ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ended ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
      """)
}
