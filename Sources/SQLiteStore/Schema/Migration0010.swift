extension Migration {
  /// The bytes that each waiting envelope counts in its client's quota: body, headers and target.
  ///
  /// They are in the line, which a start reads anyway. So what waits of each client is known after
  /// a restart without reading the contents or keeping a table of sums.
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
