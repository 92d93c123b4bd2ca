extension Migration {
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
}
