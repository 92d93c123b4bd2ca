#if PostgreSQL
import RelayCore

extension Schema {
  /// What operators keep, and large bodies.
  static let operators = kept + bodies

  private static let kept = """
    CREATE TABLE token (
      id text COLLATE "C" PRIMARY KEY,
      kind smallint NOT NULL,
      client text COLLATE "C",
      digest bytea NOT NULL,
      label text,
      created_at bigint NOT NULL,
      expires_at bigint
    );
    CREATE INDEX token_client ON token (client, id);

    -- The last number of each kind: 0 an act, 1 an operation. Its row is locked until the
    -- transaction has ended, so that numbers have no gap and are committed in their order.
    CREATE TABLE counted (
      kind smallint PRIMARY KEY,
      last bigint NOT NULL
    ) WITH (fillfactor = 20);
    INSERT INTO counted VALUES (0, 0), (1, 0);

    -- By which process: so it finds its own last one again.
    CREATE TABLE audit (
      number bigint PRIMARY KEY,
      process bigint NOT NULL,
      at bigint NOT NULL,
      who text NOT NULL,
      role text NOT NULL,
      action text NOT NULL,
      subject text COLLATE "C" NOT NULL,
      result smallint NOT NULL,
      status int,
      detail text
    );
    CREATE INDEX audit_subject ON audit (subject, number);

    -- An operation is the process's that began it; refusals as OperationCode writes them.
    CREATE TABLE operation (
      number bigint PRIMARY KEY,
      process bigint NOT NULL,
      started_at bigint NOT NULL,
      who text NOT NULL,
      action text NOT NULL,
      client text,
      lane text,
      upstream text,
      tag text,
      states text NOT NULL,
      accepted_since bigint,
      accepted_until bigint,
      ended_since bigint,
      ended_until bigint,
      status bigint,
      reason text,
      is_discarded bool,
      error_id text,
      matched bigint NOT NULL,
      has_more bool NOT NULL,
      has_fresh_keys bool NOT NULL,
      done bigint NOT NULL,
      failed bigint NOT NULL,
      state smallint NOT NULL,
      ended_at bigint,
      refusals text NOT NULL
    );

    -- Each process writes rows of its own, which are added up when they are read. As many wait at a
    -- process as its last row says. Delays as HistoryCode writes them.
    CREATE TABLE history (
      upstream int NOT NULL,
      minute bigint NOT NULL,
      process bigint NOT NULL,
      accepted bigint NOT NULL,
      delivered bigint NOT NULL,
      failed bigint NOT NULL,
      waiting bigint NOT NULL,
      delays bytea NOT NULL,
      PRIMARY KEY (upstream, minute, process)
    );
    CREATE INDEX history_minute ON history (minute);
    CREATE INDEX history_process ON history (process, upstream, minute);

    """

  private static let bodies = """
    -- Pieces of large bodies, \(StoredBodyFile.chunkBytes) bytes each but for the last one. Each
    -- body has a first piece. Not compressed, so that a part of a piece is read alone.
    CREATE TABLE body_chunk (
      body uuid NOT NULL,
      n int NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (body, n)
    );
    ALTER TABLE body_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;
    -- Bodies that no envelope refers to: on their way, or left over. They are deleted once nobody
    -- has touched them for long.
    CREATE TABLE body_pending (
      body uuid PRIMARY KEY,
      touched_at timestamptz NOT NULL
    );

    -- Has envelopes refer to bodies, in their own transaction. It waits for whoever is just
    -- deleting one of them; then there is none, and the envelope is not written.
    CREATE FUNCTION take_bodies(bodies uuid[]) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM body_pending WHERE body = ANY(bodies);
      IF EXISTS (
        SELECT 1 FROM unnest(bodies) AS asked(body)
        LEFT JOIN body_chunk ON body_chunk.body = asked.body AND n = 0
        WHERE body_chunk.body IS NULL
      ) THEN
        RAISE EXCEPTION 'a body is not kept any more' USING ERRCODE = '23503';
      END IF;
    END $$;
    -- Bodies that envelopes refer to no longer; they are deleted soon, and not at once, since that
    -- may take long.
    CREATE FUNCTION drop_bodies(bodies uuid[]) RETURNS void
    LANGUAGE sql AS $$
      INSERT INTO body_pending SELECT DISTINCT unnest(bodies), '-infinity'::timestamptz
      ON CONFLICT (body) DO UPDATE SET touched_at = excluded.touched_at
    $$;
    """
}
#endif
