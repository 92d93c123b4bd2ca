import CSQLite
import RelayCore

/// One connection to the database file, used by one thread at a time (`SQLITE_OPEN_NOMUTEX`).
///
/// "Multi-thread. In this mode, SQLite can be safely used by multiple threads provided that no
/// single database connection nor any object derived from database connection, such as a prepared
/// statement, is used in two or more threads at the same time."
/// (<https://www.sqlite.org/threadsafe.html>)
package struct Connection: ~Copyable {
  /// The rights of the connection.
  package enum Access {
    /// It reads and writes, and makes the file if there is none.
    case create
    /// It reads and writes.
    case readWrite
    /// It only reads.
    case readOnly
  }

  /// What a checkpoint does beyond copying what it can.
  package enum Checkpoint {
    /// It waits for nobody.
    case passive
    /// It waits for readers, so that the next commit starts the log over.
    case restart
    /// It waits for readers, and cuts the log's file to nothing.
    case truncate
  }

  /// The longest wait of a statement for another connection's lock.
  ///
  /// Only checkpoints ever meet one: a database has one owner, and the owner one writer.
  private static let lockWaitMs: Int32 = 5000

  /// SQLite's own handle.
  let handle: OpaquePointer
  /// What ``logPages`` is kept in, where SQLite's hook finds it.
  private let pagesTold = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

  /// Opens the file.
  package init(path: String, access: Access) throws(StoreError) {
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
    sqlite3_busy_timeout(opened, Self.lockWaitMs)
    handle = opened
    pagesTold.initialize(to: 0)
  }

  deinit {
    sqlite3_wal_hook(handle, nil, nil)
    // close_v2, since statements kept beside the connection may be finalized after it.
    sqlite3_close_v2(handle)
    pagesTold.deallocate()
  }

  /// The path of the file; empty for a database in memory.
  package var path: String { sqlite3_db_filename(handle, nil).map { String(cString: $0) } ?? "" }

  /// Runs one or more statements whose results do not matter.
  package func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else {
      let verb = sql.prefix { $0 != " " }.lowercased()
      throw StoreError(code: code, operation: verb, handle: handle)
    }
  }

  /// The first column of the first row, as a number; 0 if there is no row.
  package func number(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try Statement(sql, on: self)
    guard try statement.step() else { return 0 }
    return statement.int(0)
  }

  /// The first column of the first row as text; nil if there is none.
  package func text(_ sql: String) throws(StoreError) -> String? {
    let statement = try Statement(sql, on: self)
    return try statement.step() ? statement.text(0) : nil
  }

  /// The number of rows that the last finished statement has inserted, changed or deleted.
  package var changeCount: Int32 { sqlite3_changes(handle) }

  /// Whether a transaction is open.
  ///
  /// After some errors SQLite has already rolled back by itself.
  package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Rolls back, if a transaction is open.
  package func rollBackIfOpen() {
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
  package func keepLog() {
    var isKept: Int32 = 1
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
  }

  /// Has SQLite tell ``logPages`` at each commit from now on.
  ///
  /// It copies no log by itself any more then (<https://www.sqlite.org/c3ref/wal_hook.html>).
  package func watchLog() {
    // Called within the commit, on this thread; the pointer lives as long as the connection.
    sqlite3_wal_hook(
      handle,
      { context, _, _, pages in
        context?.assumingMemoryBound(to: Int32.self).pointee = pages
        return SQLITE_OK
      }, pagesTold)
  }

  /// The number of pages in the log at the last commit that wrote something, after ``watchLog()``.
  ///
  /// Set to 0 before a commit, it is still 0 after one that wrote nothing.
  package var logPages: Int32 {
    get { pagesTold.pointee }
    nonmutating set { pagesTold.pointee = newValue }
  }

  /// Copies the log's content into the database file, as far as no reader is in the way.
  ///
  /// - Parameter waitMs: The longest wait for readers, if not that of all statements.
  /// - Returns: How far it went.
  @discardableResult
  package func checkpoint(
    _ checkpoint: Checkpoint = .passive, waitMs: Int32? = nil
  ) -> CheckpointResult {
    let mode =
      switch checkpoint {
      case .passive: SQLITE_CHECKPOINT_PASSIVE
      case .restart: SQLITE_CHECKPOINT_RESTART
      case .truncate: SQLITE_CHECKPOINT_TRUNCATE
      }
    if let waitMs { sqlite3_busy_timeout(handle, waitMs) }
    defer { if waitMs != nil { sqlite3_busy_timeout(handle, Self.lockWaitMs) } }
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
package struct CheckpointResult {
  /// The number of pages in the log.
  package let pages: Int32
  /// Whether all of them were copied.
  package let isComplete: Bool
  /// The error; nil if at most readers were in the way.
  package let error: StoreError?
}
