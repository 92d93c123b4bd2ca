extension Migration {
  /// References to earlier answers.
  ///
  /// The new columns stand behind the body, and cost no byte of it: 0 and 1 are told in a row's
  /// header.
  static let migration0007 = Migration(
    version: 7,
    sql: """
      -- Whether the content holds references to earlier envelopes' answers.
      ALTER TABLE envelope ADD COLUMN has_references INTEGER NOT NULL DEFAULT 0;
      """)
}
