extension Migration {
  /// The mark of an upstream that was paused once because it is configured to start so.
  ///
  /// Clients and lanes need no such mark: they are paused when their rows are made, and those that
  /// start paused are never forgotten.
  static let migration0005 = Migration(
    version: 5,
    sql: """
      ALTER TABLE upstream ADD COLUMN start_paused INTEGER NOT NULL DEFAULT 0;
      """)
}
