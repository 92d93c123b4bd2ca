extension Migration {
  /// References to earlier responses, and posts that replace waiting envelopes' content.
  ///
  /// The new columns are behind the body, and cost a plain envelope no byte: 0, 1 and NULL are part
  /// of a row's header.
  static let migration0007 = Migration(
    version: 7,
    sql: """
      -- Whether the content holds references to earlier envelopes' answers.
      ALTER TABLE envelope ADD COLUMN has_references INTEGER NOT NULL DEFAULT 0;
      -- Under which name a later post takes its place, and how often one has.
      ALTER TABLE envelope ADD COLUMN coalesce_key TEXT;
      ALTER TABLE envelope ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;

      -- Only for envelopes with such a name: the last one of each.
      CREATE TABLE coalesce_index (
        lane INTEGER NOT NULL,
        key TEXT NOT NULL,
        serial INTEGER NOT NULL,
        PRIMARY KEY (lane, key)
      ) STRICT, WITHOUT ROWID;

      -- The sender's keys of contents that were replaced: they go when the envelope goes.
      CREATE TABLE coalesced_key (
        serial INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (serial, revision)
      ) STRICT, WITHOUT ROWID;
      -- What was posted under such a key; NULL where the envelope itself says it.
      ALTER TABLE key_index ADD COLUMN fingerprint BLOB;
      """)
}
