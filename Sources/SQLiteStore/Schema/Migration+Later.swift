// The steps after the first schema, in their order.
extension Migration {
  /// The pauses that are in force: an upstream, a client or a lane, by its number.
  static let migration0002 = Migration(
    version: 2,
    sql: """
      CREATE TABLE paused (
        kind INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (kind, number)
      ) STRICT, WITHOUT ROWID;
      """)

  /// The event log.
  ///
  /// `docs/decisions/0008-event-log.md` gives the reasons.
  static let migration0003 = Migration(
    version: 3,
    sql: """
      -- What happened, in the order of the commits: one row for each transaction that logged
      -- something, without a gap. See EventLog for the entries. `bytes_through` counts this row's
      -- bytes and those of all before it, so that two rows tell how large the log is.
      CREATE TABLE event_log (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        bytes_through INTEGER NOT NULL,
        entries BLOB NOT NULL
      ) STRICT;

      -- One row: tells this log's events from those of another store's.
      CREATE TABLE event_origin (
        number INTEGER PRIMARY KEY CHECK (number = 1),
        origin INTEGER NOT NULL
      ) STRICT;
      INSERT INTO event_origin VALUES (1, random() & 4294967295);
      """)

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

  /// The mark of an upstream that was paused once because it is configured to start so.
  ///
  /// Clients and lanes need no such mark: they are paused when their rows are made, and those that
  /// start paused are never forgotten.
  static let migration0005 = Migration(
    version: 5,
    sql: """
      ALTER TABLE upstream ADD COLUMN start_paused INTEGER NOT NULL DEFAULT 0;
      """)

  /// The mark of an envelope that the upstream may have already.
  ///
  /// It must not be sent again before that is known, neither while it waits nor once it is requeued
  /// after its end.
  static let migration0006 = Migration(
    version: 6,
    sql: """
      ALTER TABLE line ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ended ADD COLUMN in_doubt INTEGER NOT NULL DEFAULT 0;
      """)

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

  /// Tokens of clients and operators.
  static let migration0009 = Migration(
    version: 9,
    sql: """
      -- Never the secrets: digest is SHA-256 of one, empty for a revoked token that was made of a
      -- key. kind: 0 a client's, 1 an operator's who may read, 2 one's who may steer, 3 revoked.
      CREATE TABLE token (
        id TEXT PRIMARY KEY,
        kind INTEGER NOT NULL,
        client TEXT,
        digest BLOB NOT NULL,
        label TEXT,
        created_at INTEGER NOT NULL,
        expires_at INTEGER
      ) STRICT, WITHOUT ROWID;

      CREATE INDEX token_client ON token (client, id) WHERE client IS NOT NULL;
      """)

  /// The bytes that each waiting envelope counts in its client's quota: body, headers and target.
  ///
  /// They are in the line, which a start reads anyway. So what waits of each client is known after
  /// a restart without reading the contents or keeping a table of sums.
  static let migration0010 = Migration(
    version: 10,
    sql: """
      ALTER TABLE line ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
      UPDATE line SET bytes = (
        SELECT length(target) + length(headers) + coalesce(length(body), 0)
          + coalesce((SELECT bytes FROM body_file WHERE serial = envelope.serial), 0)
        FROM envelope WHERE serial = line.serial);
      """)

  /// Waiting envelopes that cannot be read.
  ///
  /// `docs/decisions/0023-damaged-stores.md` says what happens to them.
  static let migration0011 = Migration(
    version: 11,
    sql: """
      -- Only for such: under which id each can be named, be it that its own cannot be read, and
      -- what else the line knew of it. Kept when it ends, as long as its own row is.
      CREATE TABLE quarantine (
        serial INTEGER PRIMARY KEY,
        id BLOB NOT NULL,
        client INTEGER NOT NULL,
        lane INTEGER NOT NULL,
        upstream INTEGER NOT NULL,
        accepted_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        on_failure INTEGER NOT NULL,
        quarantined_at INTEGER NOT NULL,
        reason TEXT NOT NULL
      ) STRICT;
      """)

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

  /// The audit log: the operators' acts and their results.
  ///
  /// `docs/decisions/0026-acts-are-written-down-first.md` gives the reasons.
  static let migration0013 = Migration(
    version: 13,
    sql: """
      -- One row for each act, written before the act is carried out. result: 0 begun, 1 done,
      -- 2 refused, 3 failed.
      CREATE TABLE audit (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        who TEXT NOT NULL,
        role TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        result INTEGER NOT NULL,
        status INTEGER,
        detail TEXT
      ) STRICT;

      CREATE INDEX audit_subject ON audit (subject);
      """)

  /// The history, which the charts show, and operations on many envelopes.
  ///
  /// `docs/decisions/0027-the-history-is-a-ring-of-minutes.md` and
  /// `docs/decisions/0028-operations-are-single-acts.md` give the reasons.
  static let migration0014 = Migration(
    version: 14,
    sql: """
      -- One row for each minute and upstream in which something happened; upstream 0 stands for
      -- those that are counted together. minute: since the epoch. waiting: when it was over.
      -- delays: how long deliveries took, as HistoryCode writes it; empty for none.
      CREATE TABLE history (
        upstream INTEGER NOT NULL,
        minute INTEGER NOT NULL,
        accepted INTEGER NOT NULL,
        delivered INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        waiting INTEGER NOT NULL,
        delays BLOB NOT NULL,
        PRIMARY KEY (upstream, minute)
      ) STRICT, WITHOUT ROWID;

      -- What was done with all that a filter matched. states: words, with commas in between.
      -- state: 0 running, 1 done, 2 stopped, 3 interrupted. refusals: a line each, as OperationCode
      -- writes it.
      CREATE TABLE operation (
        number INTEGER PRIMARY KEY,
        started_at INTEGER NOT NULL,
        who TEXT NOT NULL,
        action TEXT NOT NULL,
        client TEXT,
        lane TEXT,
        upstream TEXT,
        tag TEXT,
        states TEXT NOT NULL,
        matched INTEGER NOT NULL,
        has_more INTEGER NOT NULL,
        done INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        state INTEGER NOT NULL,
        ended_at INTEGER,
        refusals TEXT NOT NULL
      ) STRICT;
      """)

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

  /// The number of names, and the last number that was given to one.
  ///
  /// Clients and lanes are forgotten once nothing refers to them. So the next number can no longer
  /// be read off the rows, and no number is ever given to a second name.
  static let migration0016 = Migration(
    version: 16,
    sql: """
      ALTER TABLE ledger ADD COLUMN clients INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ledger ADD COLUMN lanes INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ledger ADD COLUMN last_client INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE ledger ADD COLUMN last_lane INTEGER NOT NULL DEFAULT 0;
      UPDATE ledger SET clients = (SELECT count(*) FROM client),
        lanes = (SELECT count(*) FROM lane),
        last_client = (SELECT coalesce(max(number), 0) FROM client),
        last_lane = (SELECT coalesce(max(number), 0) FROM lane);

      -- How many lanes a client has, so that a limit on them costs no look at them.
      ALTER TABLE client ADD COLUMN lane_count INTEGER NOT NULL DEFAULT 0;
      UPDATE client SET lane_count = (SELECT count(*) FROM lane WHERE lane.client = client.number);
      """)

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

  /// What operations select by beside names and states, and what a replay sends as its keys.
  static let migration0018 = Migration(
    version: 18,
    sql: """
      ALTER TABLE operation ADD COLUMN accepted_since INTEGER;
      ALTER TABLE operation ADD COLUMN accepted_until INTEGER;
      ALTER TABLE operation ADD COLUMN ended_since INTEGER;
      ALTER TABLE operation ADD COLUMN ended_until INTEGER;
      ALTER TABLE operation ADD COLUMN status INTEGER;
      ALTER TABLE operation ADD COLUMN reason TEXT;
      ALTER TABLE operation ADD COLUMN error_id TEXT;
      ALTER TABLE operation ADD COLUMN has_fresh_keys INTEGER NOT NULL DEFAULT 0;
      """)

  /// Uploads: envelopes whose bodies come in by several requests.
  ///
  /// `docs/decisions/0063-resumable-uploads.md` gives the reasons.
  static let migration0019 = Migration(
    version: 19,
    sql: """
      -- terms: the envelope, as UploadTerms writes it. offset: how many bytes of the file are on
      -- disk for good. envelope: what it has become; then the file is that one's body.
      CREATE TABLE upload (
        id BLOB PRIMARY KEY,
        client TEXT NOT NULL,
        key TEXT,
        terms BLOB NOT NULL,
        length INTEGER,
        offset INTEGER NOT NULL,
        touched_at INTEGER NOT NULL,
        file TEXT NOT NULL UNIQUE,
        envelope BLOB
      ) STRICT, WITHOUT ROWID;

      CREATE UNIQUE INDEX upload_key ON upload (client, key) WHERE key IS NOT NULL;
      CREATE INDEX upload_touched ON upload (touched_at);
      CREATE INDEX upload_client ON upload (client, id);
      """)
}
