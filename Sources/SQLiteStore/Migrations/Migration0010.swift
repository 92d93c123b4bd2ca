extension Migration {
  /// How many bytes each waiting envelope counts in its client's quota: body, headers and target.
  ///
  /// In the line, which a start reads anyway, so that what waits of each client is known again
  /// after a restart without a look at the contents, and no table of sums has to be kept.
  static let migration0010 = Migration(
    version: 10,
    sql: """
      ALTER TABLE line ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
      UPDATE line SET bytes = (
        SELECT length(target) + length(headers) + coalesce(length(body), 0)
          + coalesce((SELECT bytes FROM body_file WHERE serial = envelope.serial), 0)
        FROM envelope WHERE serial = line.serial);
      """)
}
