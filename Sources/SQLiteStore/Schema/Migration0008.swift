extension Migration {
  /// The endings that clients that check in have yet to be told.
  ///
  /// An ending of a client that does not check in takes no room here.
  static let migration0008 = Migration(
    version: 8,
    sql: """
      -- The clients that have checked in at least once; is_filled once what had ended before has
      -- been looked up.
      CREATE TABLE checks_in (
        client INTEGER PRIMARY KEY,
        is_filled INTEGER NOT NULL
      ) STRICT;

      -- Endings that their client has not yet said it has seen.
      CREATE TABLE ending (
        client INTEGER NOT NULL,
        number INTEGER NOT NULL,
        serial INTEGER NOT NULL,
        PRIMARY KEY (client, number)
      ) STRICT, WITHOUT ROWID;

      -- The ending's number, so that its row is found when the envelope is deleted.
      ALTER TABLE ended ADD COLUMN ending INTEGER;

      -- The last number given out.
      ALTER TABLE ledger ADD COLUMN last_ending INTEGER NOT NULL DEFAULT 0;
      """)
}
