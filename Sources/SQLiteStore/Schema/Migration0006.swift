extension Migration {
  /// The mark of an envelope that the upstream may have already.
  ///
  /// It must not be sent again before that is known, neither while it waits nor once it is requeued
  /// after its end.
  static let migration0006 = Migration(
    version: 6,
    sql: """
      ALTER TABLE line ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ended ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
      """)
}
