import RelayCore

/// The correct values of the ledger's counts, computed from the rows.
enum StoreCounts {
  /// The ledger's columns that follow from the rows, and the row's own number, each with the query
  /// for its value.
  private static let values: [(column: String, query: String)] =
    [("number", "1")]
    + Standing.allCases.map {
      ($0.state.rawValue, "(SELECT count(*) FROM line WHERE standing = \($0.code))")
    }
    + ends.map { ($0.column, "(SELECT count(*) FROM ended WHERE state = \($0.code))") } + [
      (
        "content_bytes",
        """
        (SELECT coalesce(sum(length(target) + length(headers) + coalesce(length(body), 0)), 0) \
        FROM envelope) + (SELECT coalesce(sum(bytes), 0) FROM body_file)
        """
      ),
      ("file_bytes", "(SELECT coalesce(sum(bytes), 0) FROM body_file)"),
      ("clients", "(SELECT count(*) FROM client)"), ("lanes", "(SELECT count(*) FROM lane)"),
    ]

  /// The ends by the columns in which the ledger and the lanes count them, and by their codes.
  static let ends: [(column: String, code: Int64)] = EnvelopeState.ends.compactMap { state in
    state.endCode.map { (state.rawValue, $0) }
  }

  /// The ledger's columns that follow from the rows.
  static let columns = values.map(\.column).joined(separator: ", ")

  /// The ledger's columns, computed from the rows.
  static let selection = "SELECT " + values.map(\.query).joined(separator: ", ")

  /// The bytes that a row of the line counts in its client's quota.
  static let lineBytes = """
    (SELECT length(e.target) + length(e.headers) + coalesce(length(e.body), 0) \
    + coalesce((SELECT f.bytes FROM body_file AS f WHERE f.serial = e.serial), 0) \
    FROM envelope AS e WHERE e.serial = line.serial)
    """
}
