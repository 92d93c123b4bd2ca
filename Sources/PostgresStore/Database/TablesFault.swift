#if PostgreSQL
import Postgres
import RelayCore

/// What keeps a relay from using the tables that it finds.
enum TablesFault {
  /// - Parameters:
  ///   - versions: What `tableVersions` found.
  ///   - isExact: Whether they have to be of this program's version: for one that reads all of
  ///     them.
  /// - Returns: nil if the tables can be used.
  static func found(
    _ versions: PostgresRows, of subject: String, isExact: Bool = false
  ) -> StoreError? {
    guard versions.count == 1 else {
      return corrupt(
        "its table schema_version has \(versions.count) rows in place of one", of: subject)
    }
    guard let version = versions.int64OrNil(0, 0), version >= 1 else {
      let shown = versions.int64OrNil(0, 0).map { "\($0)" } ?? "NULL"
      return corrupt(
        "its table schema_version holds the version \(shown), which no relay has written",
        of: subject)
    }
    let usableFrom = isExact ? version : versions.int64(0, 1)
    guard usableFrom > Int64(Schema.version) else { return nil }
    return StoreError(
      kind: .newerSchema, operation: "open", subject: subject,
      detail:
        "its tables are of version \(version), for relays that know version \(usableFrom), and"
        + " this relay knows them up to \(Schema.version). Run a newer relay.")
  }

  /// There are tables of a relay, and not the one that says what they are.
  static func missingVersion(of subject: String) -> StoreError {
    corrupt("it has tables of a relay, but not their table schema_version", of: subject)
  }

  private static func corrupt(_ fault: String, of subject: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "open", subject: subject,
      detail: fault + ". Restore the database from a backup, or name an empty one.")
  }
}

extension PostgresCommand {
  /// The rows of the table that says of which version the tables are.
  ///
  /// Version 1 did not say who can use it: only who knows it.
  static let tableVersions = PostgresCommand(
    """
    SELECT version::bigint,
      coalesce((to_jsonb(schema_version) ->> 'usable_from')::bigint, version::bigint)
    FROM schema_version
    """)
}
#endif
