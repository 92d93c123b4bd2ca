extension Migration {
  /// The index for searches by client and tag.
  ///
  /// `docs/decisions/0030-searches-by-stretches.md` gives the reasons. Envelopes that were accepted
  /// before have no rows here: searches scan them.
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
