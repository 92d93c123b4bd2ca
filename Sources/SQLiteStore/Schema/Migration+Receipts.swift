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

extension Migration {
  /// Ledgers of evidence lanes.
  ///
  /// `docs/decisions/0067-evidence-lanes.md` gives the reasons.
  static let migration0021 = Migration(
    version: 21,
    sql: """
      -- An entry for each link of an evidence lane's chain. state, status, response, ended_at: how
      -- it ended, once its envelope is forgotten; until then NULL, and its envelope says so. at:
      -- when it was linked; then when its envelope was forgotten.
      CREATE TABLE lane_ledger (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        lane INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        serial INTEGER NOT NULL,
        digest BLOB NOT NULL,
        link BLOB NOT NULL,
        state INTEGER,
        status INTEGER,
        response BLOB,
        ended_at INTEGER
      ) STRICT;
      CREATE UNIQUE INDEX lane_ledger_sequence ON lane_ledger (lane, sequence);
      CREATE UNIQUE INDEX lane_ledger_serial ON lane_ledger (serial);
      CREATE INDEX lane_ledger_closed ON lane_ledger (number) WHERE state IS NOT NULL;
      CREATE INDEX lane_ledger_closed_at ON lane_ledger (at) WHERE state IS NOT NULL;
      """)
}
