extension Migration {
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
}
