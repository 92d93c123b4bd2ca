import CSQLite

/// The SQLite library.
package enum SQLiteLibrary {
  /// The linked version, such as `SQLite/3.40.1`; for `waystation version`.
  package static var version: String { "SQLite/" + String(cString: sqlite3_libversion()) }

  /// Whether the library has the settings of this package; evaluated before each connection opens.
  ///
  /// False if it was in use before, as in tests: it then works the same, but more slowly.
  static let isSetUp: Bool = {
    let keepsNone = waystation_keep_no_memory_statistics() == SQLITE_OK
    DiskReading.setUp()
    return keepsNone
  }()
}
