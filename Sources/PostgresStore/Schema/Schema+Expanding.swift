#if PostgreSQL
extension Schema {
  /// The version of the tables that this program reads and writes.
  static let version: Int32 = 9

  /// The version that ``script`` makes; ``expansion`` makes ``version`` of it.
  static let firstVersion: Int32 = 1

  /// Makes tables of an older version those of ``version``; does nothing to others.
  ///
  /// It only adds, so a relay of the version before goes on with these tables until it is replaced.
  static let expansion = """
    DO $expand$
    BEGIN
      -- One relay after another: who comes second finds it done.
      PERFORM 1 FROM schema_version FOR UPDATE;
      IF (SELECT max(version) FROM schema_version) = 1 THEN
        \(relays)
        UPDATE schema_version SET version = 2;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 2 THEN
        \(uploads)
        UPDATE schema_version SET version = 3;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 3 THEN
        \(receipts)
        UPDATE schema_version SET version = 4;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 4 THEN
        \(ledgers)
        UPDATE schema_version SET version = 5;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 5 THEN
        \(keys)
        UPDATE schema_version SET version = 6;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 6 THEN
        \(renewals)
        UPDATE schema_version SET version = 7;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 7 THEN
        \(handovers)
        UPDATE schema_version SET version = 8;
      END IF;
      IF (SELECT max(version) FROM schema_version) = 8 THEN
        \(wholeSeats)
        UPDATE schema_version SET version = 9;
      END IF;
    END $expand$
    """

  /// 2: which relays can use the tables, and where other relays reach the one that has a seat, so
  /// that they can pass requests on to it.
  private static let relays = """
    -- The first version whose relays can use these tables: what only adds leaves it as it is.
    ALTER TABLE schema_version ADD COLUMN usable_from int NOT NULL DEFAULT 2;

    ALTER TABLE seat ADD COLUMN address text;

    -- The relays that run, for operators alone.
    CREATE TABLE relay (
      process bigint PRIMARY KEY,
      address text,
      version text NOT NULL,
      seen_at timestamptz NOT NULL
    ) WITH (fillfactor = 50);

    -- The same as the function of this name that knows of no address.
    CREATE FUNCTION take_store(
      mine bigint, of_process bigint, reached_at text, former bigint[], at_beats bigint[]
    ) RETURNS bigint LANGUAGE plpgsql AS $function$
    DECLARE
      taken bigint;
    BEGIN
      taken := take_store(mine, of_process, former, at_beats);
      UPDATE seat SET address = reached_at WHERE incarnation = mine;
      RETURN taken;
    END $function$;
    """

  /// 3: uploads, whose envelopes' bodies come in by several requests.
  private static let uploads = """
    -- terms: the envelope, as UploadTerms writes it. bytes: how many of the body are here for good.
    -- turn: who goes on with it takes the next one, and only who has the last one may write pieces.
    -- envelope: what it has become. As long as it is open its body is pending, touched at infinity:
    -- no relay that knows of no uploads deletes it for its age.
    CREATE TABLE upload (
      id uuid PRIMARY KEY,
      client text COLLATE "C" NOT NULL,
      key text COLLATE "C",
      terms bytea NOT NULL,
      length bigint,
      bytes bigint NOT NULL,
      touched_at bigint NOT NULL,
      body uuid NOT NULL UNIQUE,
      turn bigint NOT NULL DEFAULT 0,
      envelope uuid
    );
    CREATE UNIQUE INDEX upload_key ON upload (client, key);
    CREATE INDEX upload_touched ON upload (touched_at);
    CREATE INDEX upload_client ON upload (client, id);
    """

  /// 4: receipts of what is accepted.
  private static let receipts = """
    -- The digest of what a receipt covers; null where none was made.
    ALTER TABLE envelope ADD COLUMN covered_digest bytea;
    -- The lane's chain, as StoredChain writes it; null for none. A relay of the version before
    -- leaves it as it is: it does not lead up to the lane's last number then, and another begins.
    ALTER TABLE lane ADD COLUMN chain bytea;

    -- The heads of the lanes of one commit. payload: what is signed. leaves: their hashes, one
    -- behind the other.
    CREATE TABLE receipt (
      number bigint PRIMARY KEY,
      at bigint NOT NULL,
      payload bytea NOT NULL,
      leaves bytea NOT NULL
    );

    -- The store's identity.
    CREATE TABLE receipt_origin (
      is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
      id bytea NOT NULL
    );
    INSERT INTO receipt_origin VALUES (true, uuid_send(gen_random_uuid()));
    """

  /// 5: ledgers of evidence lanes.
  private static let ledgers = """
    -- An entry for each link of an evidence lane's chain. state, status, response, ended_at: how it
    -- ended, once its envelope is forgotten; until then null, and its envelope says so. at: when it
    -- was linked; then when its envelope was forgotten.
    CREATE TABLE lane_ledger (
      number bigint PRIMARY KEY,
      at bigint NOT NULL,
      lane bigint NOT NULL,
      sequence bigint NOT NULL,
      serial bigint NOT NULL UNIQUE,
      digest bytea NOT NULL,
      link bytea NOT NULL,
      state smallint,
      status int,
      response bytea,
      ended_at bigint,
      UNIQUE (lane, sequence)
    );
    CREATE INDEX lane_ledger_closed ON lane_ledger (number) WHERE state IS NOT NULL;
    CREATE INDEX lane_ledger_closed_at ON lane_ledger (at) WHERE state IS NOT NULL;
    """

  /// 6: keys that are remembered longer than their envelopes.
  private static let keys = """
    -- digest: of the client's name and its key; fingerprint: the beginning of that of what was
    -- posted under it. Both as RememberedKey says. ended_at: when the envelope ended.
    CREATE TABLE remembered_key (
      digest bytea PRIMARY KEY,
      ended_at bigint NOT NULL,
      fingerprint bytea NOT NULL
    );
    CREATE INDEX remembered_key_ended ON remembered_key (ended_at);
    """

  /// 7: tokens that their clients may renew.
  private static let renewals = """
    -- Until when it may be renewed, and how many milliseconds a secret is good; null: it may not
    -- be. The others are of the last renewal, and null before the first: how many there were, when
    -- it was, what the secret was made of, and the former secret's digest and end. A relay of the
    -- version before knows the last secret alone.
    ALTER TABLE token ADD COLUMN renewable_until bigint, ADD COLUMN renewal_ms bigint,
      ADD COLUMN renewals bigint, ADD COLUMN renewed_at bigint, ADD COLUMN renewal_seed bytea,
      ADD COLUMN former_digest bytea, ADD COLUMN former_expires_at bigint;
    """

  /// 8: stores that are handed over, and starts that need not count.
  ///
  /// What version 9 replaces stands there.
  private static let handovers = """
    -- Whether the relay that has the seat is about to give it up.
    ALTER TABLE seat ADD COLUMN draining bool NOT NULL DEFAULT false;

    -- What there is as of the seat's last transaction, as KeptCounts says; null where it was not
    -- counted.
    ALTER TABLE seat_commit ADD COLUMN counts bigint[];
    -- What there was when the seat of an epoch was gone.
    CREATE TABLE kept_counts (
      is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
      epoch bigint NOT NULL,
      counts bigint[] NOT NULL
    );

    -- Keeps what seats have counted that are gone, and write nothing any more.
    CREATE FUNCTION keep_counts(gone bigint[], under_epoch bigint) RETURNS void
    LANGUAGE sql AS $function$
      INSERT INTO kept_counts (epoch, counts)
      SELECT under_epoch, counts FROM seat_commit
      WHERE incarnation = ANY(gone) AND counts IS NOT NULL ORDER BY number DESC LIMIT 1
      ON CONFLICT (is_only) DO UPDATE SET epoch = excluded.epoch, counts = excluded.counts;
    $function$;
    """

  /// 9: seats that have all shards, so that no transaction need look at each.
  private static let wholeSeats = """
    -- The epoch of all shards, of a seat that was given them together; null where that is not
    -- known. Who takes a shard from a seat without deleting it has to set this to null.
    ALTER TABLE seat ADD COLUMN whole_epoch bigint;

    CREATE OR REPLACE FUNCTION fence(mine bigint, shards int[], epochs bigint[]) RETURNS void
    LANGUAGE plpgsql AS $function$
    DECLARE
      whole bigint;
    BEGIN
      SELECT whole_epoch INTO whole FROM seat WHERE incarnation = mine FOR KEY SHARE;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the seat % is gone', mine USING ERRCODE = 'WS001';
      END IF;
      -- Whoever takes the store deletes the seat first. As long as it stands, it has all of it.
      IF whole = ALL (epochs) THEN
        RETURN;
      END IF;
      IF EXISTS (
        SELECT 1 FROM unnest(shards, epochs) AS held(shard, epoch)
        LEFT JOIN shard USING (shard)
        WHERE shard.holder IS DISTINCT FROM mine OR shard.epoch <> held.epoch
      ) THEN
        RAISE EXCEPTION 'a shard is not held by the seat % any more', mine
          USING ERRCODE = 'WS001';
      END IF;
    END $function$;

    CREATE OR REPLACE FUNCTION take_store(
      mine bigint, of_process bigint, reached_at text, former bigint[], at_beats bigint[]
    ) RETURNS bigint LANGUAGE plpgsql AS $function$
    DECLARE
      taken bigint;
    BEGIN
      PERFORM 1 FROM schema_version FOR UPDATE;
      -- It waits for what the seats have under way: their counts are the last ones then.
      DELETE FROM seat USING unnest(former, at_beats) AS dead(number, last)
      WHERE incarnation = dead.number AND beats = dead.last;
      IF NOT EXISTS (SELECT 1 FROM seat) THEN
        PERFORM keep_counts(
          ARRAY(SELECT incarnation FROM seat_commit), (SELECT max(epoch) FROM shard));
      END IF;
      taken := take_store(mine, of_process, former, at_beats);
      UPDATE seat SET address = reached_at, whole_epoch = taken WHERE incarnation = mine;
      RETURN taken;
    END $function$;
    """
}
#endif
