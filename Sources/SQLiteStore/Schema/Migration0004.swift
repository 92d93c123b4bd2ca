extension Migration {
  /// Sequence numbers that wait for each other.
  ///
  /// `docs/decisions/0012-sequence-numbers-wait-for-each-other.md` gives the reasons.
  static let migration0004 = Migration(
    version: 4,
    sql: """
      ALTER TABLE ledger ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;

      -- Which envelope came under a number. Only for envelopes with a number.
      CREATE TABLE sequence_index (
        lane INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        serial INTEGER NOT NULL,
        PRIMARY KEY (lane, sequence)
      ) STRICT, WITHOUT ROWID;

      -- Stretches of numbers that did not come, though later ones did: those that are waited for,
      -- and those that nobody waits for any more.
      CREATE TABLE gap (
        lane INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        is_skipped INTEGER NOT NULL,
        PRIMARY KEY (lane, first)
      ) STRICT, WITHOUT ROWID;

      -- Lanes of which not everything that came stands in line: the number up to which it does.
      CREATE TABLE parked_lane (
        lane INTEGER PRIMARY KEY,
        placed_through INTEGER NOT NULL
      ) STRICT;

      -- What was parked, by the number that its id carries: where it is now.
      CREATE TABLE moved (
        serial INTEGER PRIMARY KEY,
        place INTEGER NOT NULL
      ) STRICT;

      -- So far a lane took any number above its last one: what it passed over stays passed over.
      INSERT INTO gap SELECT number, 1, last_sequence, 1 FROM lane WHERE last_sequence IS NOT NULL;
      """)
}
