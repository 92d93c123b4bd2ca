#if PostgreSQL
extension Schema {
  /// What lists, retention and the search for unused names need besides.
  ///
  /// No index serves a filter by client, lane or tag: each acceptance would pay for it. A list
  /// walks the narrow tables by number, and a call looks at so many rows at the most.
  static let listing = """
    -- What failed, expired or was cancelled is looked for all the time, among many more that were
    -- delivered. Those are not in it: neither acceptance nor a delivery pays.
    CREATE INDEX ended_undelivered ON ended (serial) WHERE state <> 1;
    -- Retention deletes what has moved, and looks for its former number. Only a move pays.
    CREATE INDEX moved_new ON moved (new);
    -- The lanes of a client in the order of their numbers, be they ever so many. Only a new lane
    -- pays.
    CREATE INDEX lane_of_client ON lane (client, number);
    -- Whether the content holds references, as in envelope. Retention asks of each envelope with a
    -- key whether something waits in its lane that may refer to it; what does not refer pays
    -- nothing.
    ALTER TABLE line ADD COLUMN refers bool NOT NULL DEFAULT false;
    CREATE INDEX line_refers ON line (lane, serial) WHERE refers;

    -- A number up to which everything was accepted before a time: the last one, if it can be told.
    -- Numbers grow with the time of acceptance. What was parked has got a later number since, and
    -- proves nothing.
    CREATE FUNCTION last_serial_before(moment bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
    DECLARE
      low bigint := 0;
      high bigint := 1 + greatest(
        (SELECT max(serial) FROM line), (SELECT max(serial) FROM ended), 0);
      middle bigint;
      probe record;
    BEGIN
      WHILE high - low > 1 LOOP
        middle := low + (high - low) / 2;
        SELECT near.serial, near.accepted_at INTO probe FROM (
          (SELECT serial, accepted_at FROM line
            WHERE serial >= middle AND serial < high ORDER BY serial LIMIT 16)
          UNION ALL
          (SELECT serial, accepted_at FROM ended
            WHERE serial >= middle AND serial < high ORDER BY serial LIMIT 16)
        ) AS near
        WHERE NOT EXISTS (SELECT 1 FROM moved WHERE moved.new = near.serial)
        ORDER BY near.serial LIMIT 1;
        IF FOUND AND probe.accepted_at < moment THEN
          low := probe.serial;
        ELSE
          high := middle;
        END IF;
      END LOOP;
      RETURN low;
    END $$;

    """
}
#endif
