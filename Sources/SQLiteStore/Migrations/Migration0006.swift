extension Migration {
  /// Whether the upstream may have a waiting envelope already, so that it must not be sent again
  /// before that is known.
  static let migration0006 = Migration(
    version: 6, sql: "ALTER TABLE line ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0")
}
