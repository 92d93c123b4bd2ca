import CSQLite

/// SQLite as a whole.
package enum SQLiteLibrary {
  /// The version that is linked, such as `SQLite/3.40.1`; for `waystation version`.
  package static var version: String { "SQLite/" + String(cString: sqlite3_libversion()) }

  /// Whether the library is set up as the store wants it; asked before each connection is opened.
  ///
  /// False where it was in use already, as it may be in tests: it then does as much, more slowly.
  static let isSetUp: Bool = {
    let keepsNone = waystation_keep_no_memory_statistics() == SQLITE_OK
    DiskReading.setUp()
    return keepsNone
  }()
}
