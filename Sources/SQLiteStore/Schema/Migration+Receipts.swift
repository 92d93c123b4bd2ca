extension Migration {
  /// Receipts of what is accepted.
  ///
  /// `docs/decisions/0065-receipts.md` gives the reasons.
  static let migration0020 = Migration(
    version: 20,
    sql: """
      -- The digest of what a receipt covers; NULL where none was made.
      ALTER TABLE envelope ADD COLUMN covered_digest BLOB;
      -- The lane's chain, as StoredChain writes it; NULL for none.
      ALTER TABLE lane ADD COLUMN chain BLOB;

      -- The heads of the lanes of one commit. payload: what is signed. leaves: their hashes, one
      -- behind the other.
      CREATE TABLE receipt (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        payload BLOB NOT NULL,
        leaves BLOB NOT NULL
      ) STRICT;

      -- The store's identity.
      CREATE TABLE receipt_origin (
        number INTEGER PRIMARY KEY CHECK (number = 1),
        id BLOB NOT NULL
      ) STRICT;
      INSERT INTO receipt_origin VALUES (1, randomblob(16));
      """)
}
