extension Migration {
  /// The mark of waiting envelopes that refer to earlier responses.
  static let migration0012 = Migration(
    version: 12,
    sql: """
      -- So that retention leaves what may be referred to. The index has only such rows, so that no
      -- other one pays for it with a page.
      ALTER TABLE line ADD COLUMN refers INTEGER NOT NULL DEFAULT 0;
      UPDATE line SET refers = 1 WHERE EXISTS (
        SELECT 1 FROM envelope AS e WHERE e.serial = line.serial AND e.has_references <> 0);
      CREATE INDEX line_refers ON line (lane, serial) WHERE refers = 1;
      """)
}
