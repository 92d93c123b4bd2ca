extension Migration {
  /// What searches by client and tag are answered from.
  ///
  /// `docs/decisions/0030-searches-by-stretches.md` says why it looks so. What was accepted before
  /// has no rows here: it is gone through.
  static let migration0015 = Migration(
    version: 15,
    sql: """
      -- One row for each 4,096 envelopes, by their numbers, once they are all there: which clients
      -- and tags are in which places, as SearchBlock writes it. entries: how many that are.
      CREATE TABLE search_block (
        number INTEGER PRIMARY KEY,
        entries INTEGER NOT NULL,
        terms BLOB NOT NULL
      ) STRICT;
      """)
}
