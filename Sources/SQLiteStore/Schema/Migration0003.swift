extension Migration {
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
}
