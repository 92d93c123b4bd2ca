import CSQLite

/// SQLite as a whole.
package enum SQLiteLibrary {
  /// The version that is linked, such as `SQLite/3.40.1`; for `waystation version`.
  package static var version: String { "SQLite/" + String(cString: sqlite3_libversion()) }
}
