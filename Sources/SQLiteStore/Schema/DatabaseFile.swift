import EventLoop
import Glibc
import RelayCore
import SQLite

/// Opens the database file: checks whose it is and its version, and sets each connection up.
enum DatabaseFile {
  /// The mark of Waystation's files (`PRAGMA application_id`): "WAYS".
  static let applicationID: Int64 = 0x5741_5953
  private static let magic = Array("SQLite format 3\0".utf8)

  /// Creates the file or brings it to the latest version, and leaves it in WAL mode.
  ///
  /// All steps are one transaction, which ends with a check of the result. A store that is refused
  /// is unchanged, and the version that wrote it can still open it.
  ///
  /// - Parameters:
  ///   - isToBeLogged: Whether to leave it in WAL mode; else in SQLite's default mode.
  ///   - look: Checks a store that was brought to the latest version, before that is committed.
  /// - Throws: ``StoreError/Kind/corrupt`` for a file that is not a store of ours, and
  ///   ``StoreError/Kind/newerSchema`` for one of a newer version; neither is changed.
  static func prepare(
    path: String, pageBytes: Int, migrations: [Migration] = Migration.all,
    isToBeLogged: Bool = true, look: (borrowing Connection) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    try refuseForeign(path)
    try migrate(path: path, pageBytes: pageBytes, migrations: migrations, look: look)
    if isToBeLogged { try beginLog(path: path) }
  }

  private static func migrate(
    path: String, pageBytes: Int, migrations: [Migration],
    look: (borrowing Connection) throws(StoreError) -> Void
  ) throws(StoreError) {
    let connection = try Connection(path: path, access: .create)
    let isNew = try connection.number("PRAGMA page_count") == 0
    if isNew {
      // In one transaction: a process that is cut off between the two would leave a database that
      // is not known to be ours.
      try connection.execute(
        """
        PRAGMA page_size = \(pageBytes);
        BEGIN;
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA application_id = \(applicationID);
        COMMIT
        """)
    }
    // Before WAL mode, so that the marks are in the file itself and not in its log.
    try migrate(connection, isNew: isNew, migrations: migrations, look: look)
  }

  /// Puts the database into WAL mode, for all connections to come.
  ///
  /// A power cut may leave the first log of a database whose header does not name it yet. SQLite
  /// uses that log, says that the mode is on, and deletes the log with the connection. So a second
  /// connection looks.
  private static func beginLog(path: String) throws(StoreError) {
    for _ in 1...2 { try beginLog(try Connection(path: path, access: .readWrite)) }
  }

  /// Puts the database into WAL mode.
  static func beginLog(_ connection: borrowing Connection) throws(StoreError) {
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw StoreError(
        kind: .other, operation: "open", subject: connection.path,
        detail: "the file system has no shared memory for a write-ahead log. Choose a local disk.")
    }
  }

  /// Applies the settings that a connection loses when it is closed.
  ///
  /// Commits are synced by ``LogSync``, checkpoints by SQLite.
  static func configure(
    _ connection: borrowing Connection, cacheKiB: Int
  ) throws(StoreError) {
    try connection.execute(
      """
      PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -\(cacheKiB);
      PRAGMA mmap_size = 0;
      PRAGMA temp_store = MEMORY;
      PRAGMA trusted_schema = OFF;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = \(StoreTuning.logBytesKept);
      """)
  }

  private static func migrate(
    _ connection: borrowing Connection, isNew: Bool, migrations: [Migration],
    look: (borrowing Connection) throws(StoreError) -> Void
  ) throws(StoreError) {
    let version = try connection.number("PRAGMA user_version")
    let latest = migrations.last?.version ?? 0
    guard version >= 0 else {
      throw StoreError(
        kind: .corrupt, operation: "open", subject: connection.path,
        detail: "\(version) is no version of a store. \(StoreError.corruptAdvice)")
    }
    guard version <= latest else {
      throw StoreError(
        kind: .newerSchema, operation: "open", subject: connection.path,
        detail: "a newer Waystation wrote it (schema \(version); this one knows up to \(latest)). "
          + "Start that version, or give this one another data folder. Nothing was changed.")
    }
    if !isNew {
      guard try connection.number("PRAGMA application_id") == applicationID else {
        throw foreign(connection.path)
      }
    }
    guard version < latest else { return }
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      for migration in migrations where migration.version > version {
        try connection.execute(migration.sql)
      }
      try connection.execute(
        "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(latest)")
      if !isNew { try look(connection) }
      try connection.execute("COMMIT")
    } catch {
      connection.rollBackIfOpen()
      throw error
    }
  }

  /// Checks the file's first bytes before SQLite opens it, which might already change something.
  private static func refuseForeign(_ path: String) throws(StoreError) {
    // Made here if it is missing, so that nobody else can read it. SQLite gives its log and its
    // shared memory the same permissions, and takes an empty file as a new database.
    let file = try FileDescriptor.open(path, O_RDONLY | O_CREAT)
    var header = [UInt8](repeating: 0, count: 100)
    let count = pread(file.number, &header, header.count, 0)
    guard count >= 0 else { throw StoreError(errno: errno, operation: "read", subject: path) }
    if count == 0, DataFolder.size(ofFile: path + "-wal") > 0 {
      // SQLite would delete the log, which still holds acknowledged envelopes.
      throw StoreError(
        kind: .corrupt, operation: "open", subject: path,
        detail: "it is empty or missing, though its log is not. \(StoreError.corruptAdvice)")
    }
    // Empty, or half made by a process that was killed: SQLite rolls that back from its journal.
    if count == 0 || access(path + "-journal", F_OK) == 0 { return }
    guard count == header.count, header.starts(with: magic) else {
      throw StoreError(
        kind: .corrupt, operation: "open", subject: path,
        detail: "it is no SQLite database. \(StoreError.corruptAdvice)")
    }
    // The database header: application id at offset 68 (https://www.sqlite.org/fileformat.html).
    let mark = header[68..<72].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    guard mark == applicationID else { throw foreign(path) }
  }

  /// Gives a database that was made under another name the one by which a relay finds it.
  static func name(
    _ database: String, part: String, in folder: String
  ) throws(StoreError) {
    guard rename(part, database) == 0 else {
      throw StoreError(errno: errno, operation: "rename", subject: part)
    }
    try DataFolder.sync(folder: folder + "/bodies")
    try DataFolder.sync(folder: folder)
  }

  private static func foreign(_ path: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "open", subject: path,
      detail: "it is a SQLite database of another program. Nothing was changed. Choose another "
        + "data folder.")
  }
}

extension Connection {
  /// Makes all of a database durable that was written without a log.
  func settle(part: String) throws(StoreError) {
    try execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
    try DatabaseFile.beginLog(self)
    checkpoint(.truncate)
    try execute("PRAGMA journal_mode = DELETE")
    try DataFolder.sync(file: part)
  }

  /// Has a database that nobody else sees, before it is complete, be written without a log.
  func skipLog() throws(StoreError) {
    try execute(
      """
      PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA cache_size = -65536;
      PRAGMA temp_store = MEMORY;
      """)
  }
}
