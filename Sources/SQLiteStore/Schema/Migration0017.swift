extension Migration {
  /// Checksums of what is sent, by which flipped bits are noticed before sending.
  ///
  /// `docs/decisions/0023-damaged-stores.md` says what they cover. Envelopes that were accepted
  /// before have none, and are sent as they are.
  static let migration0017 = Migration(
    version: 17,
    sql: """
      ALTER TABLE envelope ADD COLUMN checksum INTEGER;
      ALTER TABLE body_file ADD COLUMN checksum INTEGER;
      """)
}
