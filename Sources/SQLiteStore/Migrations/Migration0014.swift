extension Migration {
  /// The history: what the charts show.
  ///
  /// `docs/decisions/0027-the-history-is-a-ring-of-minutes.md` says why it looks so.
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
      """)
}
