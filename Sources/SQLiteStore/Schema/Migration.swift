/// One step from a schema version to the next.
///
/// Steps are only ever appended: a released one is never changed.
struct Migration {
  /// The version after the step: `PRAGMA user_version`.
  let version: Int64
  /// The step's SQL, run in one transaction with the new version number.
  let sql: String

  /// All steps from an empty file on.
  static let all = [
    migration0001, migration0002, migration0003, migration0004, migration0005, migration0006,
    migration0007, migration0008, migration0009, migration0010, migration0011, migration0012,
    migration0013, migration0014, migration0015, migration0016,
    migration0017, migration0018, migration0019, migration0020,
    migration0021, migration0022, migration0023,
  ]

  /// The version that this program reads and writes.
  static var latest: Int64 { all.last?.version ?? 0 }
}

extension Migration {
  /// The first schema.
  ///
  /// `docs/decisions/0002-schema.md` gives the reasons.
  static let migration0001 = Migration(
    version: 1,
    sql: """
      -- Names have numbers, so that a row of the line takes few bytes. Clients and lanes are kept
      -- for good: a lane remembers the last sequence number that it took.
      CREATE TABLE client (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
      ) STRICT;
      CREATE TABLE lane (
        number INTEGER PRIMARY KEY,
        client INTEGER NOT NULL,
        name TEXT NOT NULL,
        last_sequence INTEGER,
        delivered INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        expired INTEGER NOT NULL DEFAULT 0,
        cancelled INTEGER NOT NULL DEFAULT 0,
        UNIQUE (client, name)
      ) STRICT;
      CREATE TABLE upstream (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
      ) STRICT;

      -- What the sender handed over: appended at the right edge, no index. The body stands last, so
      -- that the rest is read without its overflow pages; NULL if it is in a file of its own.
      CREATE TABLE envelope (
        serial INTEGER PRIMARY KEY,
        id BLOB NOT NULL,
        client INTEGER NOT NULL,
        lane INTEGER NOT NULL,
        upstream INTEGER NOT NULL,
        key TEXT,
        fingerprint BLOB NOT NULL,
        sequence INTEGER,
        tag TEXT,
        hold INTEGER NOT NULL,
        not_before INTEGER,
        expires_at INTEGER NOT NULL,
        on_failure INTEGER NOT NULL,
        method TEXT NOT NULL,
        target BLOB NOT NULL,
        headers BLOB NOT NULL,
        body BLOB
      ) STRICT;

      -- What waits, and nothing else: a start reads this table from end to end.
      CREATE TABLE line (
        serial INTEGER PRIMARY KEY,
        client INTEGER NOT NULL,
        lane INTEGER NOT NULL,
        upstream INTEGER NOT NULL,
        accepted_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        standing INTEGER NOT NULL,
        on_failure INTEGER NOT NULL,
        due_at INTEGER,
        attempts INTEGER NOT NULL,
        reason TEXT
      ) STRICT;

      -- How envelopes ended, with the attempt that ended them, so that one which is delivered at
      -- the first try takes no row in `attempt`.
      CREATE TABLE ended (
        serial INTEGER PRIMARY KEY,
        state INTEGER NOT NULL,
        ended_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        reason TEXT,
        attempt_number INTEGER,
        attempt_started_at INTEGER,
        attempt_duration_ms INTEGER,
        attempt_outcome INTEGER,
        attempt_status INTEGER,
        attempt_error TEXT
      ) STRICT;

      -- The attempts that did not end their envelope.
      CREATE TABLE attempt (
        serial INTEGER NOT NULL,
        number INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        outcome INTEGER NOT NULL,
        status INTEGER,
        error TEXT,
        PRIMARY KEY (serial, number)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE response (
        serial INTEGER PRIMARY KEY,
        status INTEGER NOT NULL,
        is_truncated INTEGER NOT NULL,
        headers BLOB NOT NULL,
        body BLOB NOT NULL
      ) STRICT;

      -- Only for envelopes with a key.
      CREATE TABLE key_index (
        client INTEGER NOT NULL,
        key TEXT NOT NULL,
        serial INTEGER NOT NULL,
        PRIMARY KEY (client, key)
      ) STRICT, WITHOUT ROWID;

      -- Only for envelopes whose body is in a file of its own.
      CREATE TABLE body_file (
        serial INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        bytes INTEGER NOT NULL
      ) STRICT;

      -- Endings (and deletions of what had ended) that are not yet added up in their lanes' rows:
      -- one row per transaction. See EndedLog.
      CREATE TABLE ended_log (
        number INTEGER PRIMARY KEY,
        entries BLOB NOT NULL
      ) STRICT;

      -- One row: counts by state, and what must never go back.
      CREATE TABLE ledger (
        number INTEGER PRIMARY KEY CHECK (number = 1),
        last_serial INTEGER NOT NULL,
        last_accepted_at INTEGER NOT NULL,
        queued INTEGER NOT NULL,
        held INTEGER NOT NULL,
        blocked INTEGER NOT NULL,
        delivered INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        expired INTEGER NOT NULL,
        cancelled INTEGER NOT NULL,
        content_bytes INTEGER NOT NULL,
        file_bytes INTEGER NOT NULL
      ) STRICT;
      INSERT INTO ledger VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
      """)
}
