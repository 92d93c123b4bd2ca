extension Migration {
  /// Whether an upstream was paused once for being configured to start so.
  ///
  /// Clients and lanes need no such mark: their rows are made when they become known, and are kept
  /// for good.
  static let migration0005 = Migration(
    version: 5,
    sql: """
      ALTER TABLE upstream ADD COLUMN start_paused INTEGER NOT NULL DEFAULT 0;
      """)
}
