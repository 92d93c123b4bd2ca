#if PostgreSQL
/// The tables of the store, as SQL.
///
/// `docs/decisions/0058-a-store-on-postgresql.md` gives the reasons. They stand in the schema that
/// the connection finds first (`search_path`).
enum Schema {
  /// Makes all tables of the first version, in one transaction.
  static let script = seats + names + envelopes + numbers + operators + listing + logs

  /// Who may write: a seat's row is the right to.
  private static let seats = """
    CREATE TABLE schema_version (version int NOT NULL);
    INSERT INTO schema_version VALUES (\(firstVersion));

    CREATE TABLE seat (
      incarnation bigint PRIMARY KEY,
      -- The connection, and when it began: its number alone may be another one's later.
      backend int NOT NULL,
      backend_start timestamptz NOT NULL,
      -- The same for as long as the process has the store open, whatever its incarnation.
      process bigint NOT NULL,
      -- Grows for as long as the process runs and reaches the database.
      beats bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 20);
    -- The last transaction of each seat: by it a commit whose answer was lost is found out.
    CREATE TABLE seat_commit (
      incarnation bigint PRIMARY KEY,
      number bigint NOT NULL
    ) WITH (fillfactor = 20);
    CREATE TABLE shard (
      shard int PRIMARY KEY,
      holder bigint,
      epoch bigint NOT NULL
    );
    INSERT INTO shard SELECT number, NULL, 0 FROM generate_series(0, 1023) AS number;

    -- Each transaction that writes begins with this. The lock keeps the seat from being deleted
    -- until the transaction has ended; whoever takes shards over deletes the seat first.
    CREATE FUNCTION fence(mine bigint, shards int[], epochs bigint[]) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM 1 FROM seat WHERE incarnation = mine FOR KEY SHARE;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the seat % is gone', mine USING ERRCODE = 'WS001';
      END IF;
      IF EXISTS (
        SELECT 1 FROM unnest(shards, epochs) AS held(shard, epoch)
        LEFT JOIN shard USING (shard)
        WHERE shard.holder IS DISTINCT FROM mine OR shard.epoch <> held.epoch
      ) THEN
        RAISE EXCEPTION 'a shard is not held by the seat % any more', mine
          USING ERRCODE = 'WS001';
      END IF;
    END $$;

    -- Gives all shards to a new seat of this connection, unless another one stands: but for those
    -- that are still at these beats. Returns the epoch, or null.
    CREATE FUNCTION take_store(mine bigint, of_process bigint, former bigint[], at_beats bigint[])
    RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN
      -- One after another: who comes second sees what the first one has done.
      PERFORM 1 FROM schema_version FOR UPDATE;
      DELETE FROM seat USING unnest(former, at_beats) AS dead(number, last)
      WHERE incarnation = dead.number AND beats = dead.last;
      IF EXISTS (SELECT 1 FROM seat) THEN
        RETURN NULL;
      END IF;
      DELETE FROM seat_commit;
      INSERT INTO seat
      SELECT mine, pid, backend_start, of_process FROM pg_stat_activity
      WHERE pid = pg_backend_pid();
      INSERT INTO seat_commit VALUES (mine, 0);
      UPDATE shard SET holder = mine, epoch = epoch + 1;
      RETURN (SELECT max(epoch) FROM shard);
    END $$;

    """

  private static let names = """
    -- Up to where numbers have been given out: none of them is ever used again.
    CREATE TABLE given (
      is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
      serial bigint NOT NULL,
      client bigint NOT NULL,
      lane bigint NOT NULL,
      ending bigint NOT NULL
    );
    INSERT INTO given VALUES (true, 0, 0, 0, 0);

    CREATE TABLE client (
      number bigint PRIMARY KEY,
      shard int NOT NULL,
      name text COLLATE "C" NOT NULL UNIQUE
    );
    -- The counts of ends lack what stands in ended_log.
    CREATE TABLE lane (
      number bigint PRIMARY KEY,
      client bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      last_sequence bigint,
      placed_through bigint,
      delivered bigint NOT NULL DEFAULT 0,
      failed bigint NOT NULL DEFAULT 0,
      expired bigint NOT NULL DEFAULT 0,
      cancelled bigint NOT NULL DEFAULT 0,
      UNIQUE (client, name)
    );
    CREATE TABLE upstream (
      number int PRIMARY KEY,
      name text COLLATE "C" NOT NULL UNIQUE,
      started_paused bool NOT NULL DEFAULT false
    );
    -- Of what kind the number is: 0 an upstream, 1 a client, 2 a lane.
    CREATE TABLE paused (
      kind smallint NOT NULL,
      number bigint NOT NULL,
      PRIMARY KEY (kind, number)
    );

    """

  private static let envelopes = """
    -- What was posted. Bodies are not compressed: that would cost more than it saves.
    CREATE TABLE envelope (
      serial bigint PRIMARY KEY,
      id uuid NOT NULL,
      client bigint NOT NULL,
      lane bigint NOT NULL,
      upstream int NOT NULL,
      key text COLLATE "C",
      fingerprint bytea NOT NULL,
      sequence bigint,
      tag text,
      hold bool NOT NULL,
      not_before bigint,
      expires_at bigint NOT NULL,
      on_failure smallint NOT NULL,
      refers bool NOT NULL,
      coalesce text,
      revision bigint NOT NULL,
      method text NOT NULL,
      target bytea NOT NULL,
      headers bytea NOT NULL,
      -- Either the body, or where its pieces are (body_chunk), its length and its checksum.
      body bytea,
      body_file uuid,
      body_bytes bigint,
      body_checksum bigint
    );
    ALTER TABLE envelope ALTER COLUMN body SET STORAGE EXTERNAL;

    -- What waits, and nothing else. Rows come and go at the rate of all envelopes.
    CREATE TABLE line (
      serial bigint PRIMARY KEY,
      shard int NOT NULL,
      client bigint NOT NULL,
      lane bigint NOT NULL,
      upstream int NOT NULL,
      accepted_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      standing smallint NOT NULL,
      on_failure smallint NOT NULL,
      due_at bigint,
      attempts bigint NOT NULL,
      in_doubt bool NOT NULL,
      bytes bigint NOT NULL,
      reason text
    ) WITH (
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000,
      autovacuum_vacuum_cost_delay = 0
    );

    -- How envelopes ended, with the attempt that ended them. The place that they had in the line
    -- stands here as well: an envelope may be put back.
    CREATE TABLE ended (
      serial bigint PRIMARY KEY,
      shard int NOT NULL,
      client bigint NOT NULL,
      lane bigint NOT NULL,
      upstream int NOT NULL,
      accepted_at bigint NOT NULL,
      state smallint NOT NULL,
      ended_at bigint NOT NULL,
      attempts bigint NOT NULL,
      in_doubt bool NOT NULL,
      bytes bigint NOT NULL,
      reason text,
      attempt_number bigint,
      attempt_started_at bigint,
      attempt_duration_ms bigint,
      attempt_outcome smallint,
      attempt_status int,
      attempt_error text,
      -- The number under which the client is told of it; see ending.
      ending bigint
    );
    -- Changes of the counts in lanes' rows that are still to be added up.
    CREATE TABLE ended_log (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      lanes bigint[] NOT NULL,
      states smallint[] NOT NULL,
      changes bigint[] NOT NULL
    );
    -- The attempts that did not end their envelope.
    CREATE TABLE attempt (
      serial bigint NOT NULL,
      number bigint NOT NULL,
      started_at bigint NOT NULL,
      duration_ms bigint NOT NULL,
      outcome smallint NOT NULL,
      status int,
      error text,
      PRIMARY KEY (serial, number)
    );
    CREATE TABLE response (
      serial bigint PRIMARY KEY,
      status int NOT NULL,
      is_truncated bool NOT NULL,
      headers bytea NOT NULL,
      body bytea NOT NULL
    );

    """

  private static let numbers = """
    -- The fingerprint is set once the content that came with the key has been replaced.
    CREATE TABLE key_index (
      client bigint NOT NULL,
      key text COLLATE "C" NOT NULL,
      serial bigint NOT NULL,
      fingerprint bytea,
      PRIMARY KEY (client, key)
    );
    -- The keys of contents that were replaced, by the revision that they came with.
    CREATE TABLE former_key (
      serial bigint NOT NULL,
      revision bigint NOT NULL,
      client bigint NOT NULL,
      key text COLLATE "C" NOT NULL,
      PRIMARY KEY (serial, revision)
    );
    -- The last envelope of each name to coalesce by.
    CREATE TABLE name_index (
      lane bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      serial bigint NOT NULL,
      PRIMARY KEY (lane, name)
    );
    CREATE TABLE sequence_index (
      lane bigint NOT NULL,
      number bigint NOT NULL,
      serial bigint NOT NULL,
      PRIMARY KEY (lane, number)
    );
    CREATE TABLE gap (
      lane bigint NOT NULL,
      first bigint NOT NULL,
      last bigint NOT NULL,
      is_skipped bool NOT NULL,
      PRIMARY KEY (lane, first)
    );
    CREATE INDEX gap_open ON gap (lane, first) WHERE NOT is_skipped;
    -- Where an envelope that was parked stands since it was put in line.
    CREATE TABLE moved (
      old bigint PRIMARY KEY,
      new bigint NOT NULL
    );

    """
}
#endif
