import CSQLite
import RelayCore

/// One connection to the database file, used by one thread at a time (`SQLITE_OPEN_NOMUTEX`).
///
/// "Multi-thread. In this mode, SQLite can be safely used by multiple threads provided that no
/// single database connection nor any object derived from database connection, such as a prepared
/// statement, is used in two or more threads at the same time."
/// (<https://www.sqlite.org/threadsafe.html>)
struct Connection: ~Copyable {
  /// The rights of the connection.
  enum Access { case create, readWrite, readOnly }

  /// SQLite's own handle.
  let handle: OpaquePointer

  /// Opens the file.
  init(path: String, access: Access) throws(StoreError) {
    let flags: Int32 =
      switch access {
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      case .readWrite: SQLITE_OPEN_READWRITE
      case .readOnly: SQLITE_OPEN_READONLY
      }
    _ = SQLiteLibrary.isSetUp
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened else {
      let error = StoreError(code: code, operation: "open", handle: opened)
      sqlite3_close_v2(opened)
      throw error
    }
    sqlite3_extended_result_codes(opened, 1)
    // Only checkpoints ever meet a lock: the folder has one owner, and the owner one writer.
    sqlite3_busy_timeout(opened, StoreTuning.busyTimeoutMs)
    handle = opened
  }

  // close_v2, since statements kept beside the connection may be finalized after it.
  deinit { sqlite3_close_v2(handle) }

  /// Runs one or more statements whose results do not matter.
  func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else {
      let verb = sql.prefix { $0 != " " }.lowercased()
      throw StoreError(code: code, operation: verb, handle: handle)
    }
  }

  /// The first column of the first row, as a number; 0 if there is no row.
  func number(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try Statement(sql, on: self)
    guard try statement.step() else { return 0 }
    return statement.int(0)
  }

  /// The number of rows that the last finished statement has inserted, changed or deleted.
  var changeCount: Int32 { sqlite3_changes(handle) }

  /// Whether a transaction is open.
  ///
  /// After some errors SQLite has already rolled back by itself.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Rolls back, if a transaction is open.
  func rollBackIfOpen() {
    resetStatements()
    if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
  }

  /// Resets every statement that an error has left among its rows.
  ///
  /// Before that nothing can be bound to it (<https://www.sqlite.org/c3ref/bind_blob.html>), and
  /// one that writes keeps the transaction from ending.
  private func resetStatements() {
    var next = sqlite3_next_stmt(handle, nil)
    while let statement = next {
      if sqlite3_stmt_busy(statement) != 0 { sqlite3_reset(statement) }
      next = sqlite3_next_stmt(handle, statement)
    }
  }

  /// Keeps the log's file when the last connection is closed.
  func keepLog() {
    var isKept: Int32 = 1
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
  }

  /// Copies the log's content into the database file, as far as no reader is in the way.
  ///
  /// - Returns: How far it went.
  @discardableResult
  func checkpoint(_ mode: Int32 = SQLITE_CHECKPOINT_PASSIVE) -> CheckpointResult {
    var pages: Int32 = 0
    var copied: Int32 = 0
    let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, &pages, &copied)
    let isExpected = code == SQLITE_OK || code & 0xFF == SQLITE_BUSY
    return CheckpointResult(
      pages: max(0, pages), isComplete: code == SQLITE_OK && pages == copied,
      error: isExpected ? nil : StoreError(code: code, operation: "checkpoint", handle: handle))
  }
}

/// The result of a checkpoint.
struct CheckpointResult {
  /// The number of pages in the log.
  let pages: Int32
  /// Whether all of them were copied.
  let isComplete: Bool
  /// The error; nil if at most readers were in the way.
  let error: StoreError?
}

/// The SQLite library.
package enum SQLiteLibrary {
  /// The linked version, such as `SQLite/3.40.1`; for `waystation version`.
  package static var version: String { "SQLite/" + String(cString: sqlite3_libversion()) }

  /// Whether the library has the store's settings; evaluated before each connection is opened.
  ///
  /// False if it was in use before, as in tests: it then works the same, but more slowly.
  static let isSetUp: Bool = {
    let keepsNone = waystation_keep_no_memory_statistics() == SQLITE_OK
    DiskReading.setUp()
    return keepsNone
  }()
}
