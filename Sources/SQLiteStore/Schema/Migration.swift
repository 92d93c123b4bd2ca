/// One step from a schema version to the next.
///
/// Steps are only ever appended: a released one is never changed.
struct Migration {
  /// The version after the step: `PRAGMA user_version`.
  let version: Int64
  /// The step's SQL, run in one transaction with the new version number.
  let sql: String

  /// All steps from an empty file on.
  static let all = [
    migration0001, migration0002, migration0003, migration0004, migration0005, migration0006,
    migration0007, migration0008, migration0009, migration0010, migration0011, migration0012,
    migration0013, migration0014, migration0015, migration0016,
    migration0017,
  ]

  /// The version that this program reads and writes.
  static var latest: Int64 { all.last?.version ?? 0 }
}
