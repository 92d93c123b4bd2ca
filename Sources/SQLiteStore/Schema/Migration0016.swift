extension Migration {
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
}
