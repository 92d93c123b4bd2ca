#if PostgreSQL
extension Schema {
  /// The log of events, and the endings that clients are told.
  static let logs = events + endings

  private static let events = """
    -- A random number, so that an event of another store is not mistaken for one of this.
    CREATE TABLE event_origin (
      is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
      origin bigint NOT NULL
    );
    INSERT INTO event_origin VALUES (true, floor(random() * 4294967296)::bigint);
    -- What each transaction logged, in the order of commits and without a gap; see EventLog.
    -- `bytes_through` adds up the bytes of all rows that ever were, so two rows tell the size. The
    -- last row is always kept, so no number is used twice.
    CREATE TABLE event_log (
      number bigint PRIMARY KEY,
      at bigint NOT NULL,
      bytes_through bigint NOT NULL,
      entries bytea NOT NULL
    );
    ALTER TABLE event_log ALTER COLUMN entries SET STORAGE EXTERNAL;

    """

  private static let endings = """
    -- Clients that check in. `is_filled` once what had ended before is found; `last` is the last
    -- number of their endings, by which a number that was never given out is known.
    CREATE TABLE checks_in (
      client bigint PRIMARY KEY,
      is_filled bool NOT NULL,
      last bigint NOT NULL
    ) WITH (fillfactor = 50);
    -- What they have yet to be told.
    CREATE TABLE ending (
      client bigint NOT NULL,
      number bigint NOT NULL,
      serial bigint NOT NULL,
      PRIMARY KEY (client, number)
    );

    """
}
#endif
