/// The correct values of the ledger's counts, computed from the rows.
enum StoreCounts {
  /// The ledger's columns that follow from the rows, and the row's own number.
  static let columns = """
    number, queued, held, blocked, parked, delivered, failed, expired, cancelled, \
    content_bytes, file_bytes, clients, lanes
    """

  /// The bytes that a row of the line counts in its client's quota.
  static let lineBytes = """
    (SELECT length(e.target) + length(e.headers) + coalesce(length(e.body), 0) \
    + coalesce((SELECT f.bytes FROM body_file AS f WHERE f.serial = e.serial), 0) \
    FROM envelope AS e WHERE e.serial = line.serial)
    """

  /// The ledger's columns, computed from the rows.
  static let selection = """
    SELECT 1, \
    (SELECT count(*) FROM line WHERE standing = 0), \
    (SELECT count(*) FROM line WHERE standing = 1), \
    (SELECT count(*) FROM line WHERE standing = 2), \
    (SELECT count(*) FROM line WHERE standing = 3), \
    (SELECT count(*) FROM ended WHERE state = 1), (SELECT count(*) FROM ended WHERE state = 2), \
    (SELECT count(*) FROM ended WHERE state = 3), (SELECT count(*) FROM ended WHERE state = 4), \
    (SELECT coalesce(sum(length(target) + length(headers) + coalesce(length(body), 0)), 0) \
    FROM envelope) + (SELECT coalesce(sum(bytes), 0) FROM body_file), \
    (SELECT coalesce(sum(bytes), 0) FROM body_file), \
    (SELECT count(*) FROM client), (SELECT count(*) FROM lane)
    """
}
