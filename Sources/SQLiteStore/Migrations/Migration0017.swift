extension Migration {
  /// Sums of what is sent, by which bytes that have flipped are noticed before they are.
  ///
  /// `docs/decisions/0023-damaged-stores.md` says what they cover. What was accepted before has
  /// none, and is sent as it is.
  static let migration0017 = Migration(
    version: 17,
    sql: """
      ALTER TABLE envelope ADD COLUMN checksum INTEGER;
      ALTER TABLE body_file ADD COLUMN checksum INTEGER;
      """)
}
