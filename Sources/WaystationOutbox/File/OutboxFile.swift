import RelayCore
import SQLite

/// The database of one outbox, used by one thread at a time.
///
/// Its functions are steps of a transaction that the caller begins and ends. Nothing is decided
/// here.
final class OutboxFile {
  let connection: Connection
  let statements: OutboxStatements
  let signing: SigningStatements
  /// The version that the database said of itself, if that is not that of its tables.
  let wrongVersion: Int?

  /// Opens the database, and brings its tables to this version.
  ///
  /// - Parameter path: The file, or `:memory:`.
  /// - Throws: `StoreError`; ``StoreError/Kind/newerSchema`` if a newer library has written it.
  init(path: String, durability: Durability) throws(StoreError) {
    connection = try Connection(path: path, access: .create)
    try connection.execute(
      """
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = \(durability == .full ? "FULL" : "NORMAL");
      PRAGMA fullfsync = 1;
      PRAGMA foreign_keys = 0;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -\(FileLimits.cacheKiB);
      PRAGMA wal_autocheckpoint = \(FileLimits.checkpointPages);
      PRAGMA journal_size_limit = \(FileLimits.logBytesKept);
      """)
    wrongVersion = try Self.migrate(connection)
    statements = try OutboxStatements(connection)
    signing = try SigningStatements(connection)
  }

  /// Opens a database of which not everything may be readable, and changes no table of it.
  ///
  /// - Throws: `StoreError`; ``StoreError/Kind/newerSchema`` if a newer library has written it.
  init(damaged path: String) throws(StoreError) {
    connection = try Connection(path: path, access: .readWrite)
    let said = Int(try connection.number("PRAGMA user_version"))
    let version = try Self.version(of: connection, said)
    wrongVersion = version == said ? nil : said
    try connection.execute(Schema.lacking(from: version))
    statements = try OutboxStatements(connection)
    signing = try SigningStatements(connection)
  }

  /// The database of the outbox in a folder.
  static func path(in folder: String) -> String { "\(folder)/outbox.sqlite3" }

  /// The version of the tables in a folder; 0 if it cannot be read.
  static func version(in folder: String) -> Int {
    guard let connection = try? Connection(path: path(in: folder), access: .readOnly) else {
      return 0
    }
    return Int((try? connection.number("PRAGMA user_version")) ?? 0)
  }

  static func refuseNewer(_ version: Int) throws(StoreError) {
    guard version > Schema.version else { return }
    throw StoreError(
      kind: .newerSchema, operation: "open", subject: "the outbox",
      detail: "version \(version) of its tables is newer than this library's, \(Schema.version).")
  }

  /// The version of the tables, which say it themselves: one wrong bit makes another number.
  ///
  /// - Parameter said: The number that the database has of it.
  private static func version(
    of connection: borrowing Connection, _ said: Int
  ) throws(StoreError) -> Int {
    if let version = try Schema.version(of: Schema.list(of: connection)) { return version }
    try refuseNewer(said)
    throw StoreError(
      kind: .corrupt, operation: "open", subject: "the outbox",
      detail: "its tables are not those of version \(said).")
  }

  /// - Returns: The version that the database said of itself, if it was wrong; it is right now.
  private static func migrate(_ connection: borrowing Connection) throws(StoreError) -> Int? {
    let said = Int(try connection.number("PRAGMA user_version"))
    let found = try version(of: connection, said)
    guard found != Schema.version || found != said else { return nil }
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      for step in Schema.steps[found...] { try connection.execute(step) }
      try connection.execute("PRAGMA user_version = \(Schema.version); COMMIT")
    } catch {
      connection.rollBackIfOpen()
      throw error
    }
    return found == said ? nil : said
  }

  // MARK: - Transactions

  /// Begins a transaction.
  func begin() throws(StoreError) { try statements.begin.run() }

  /// Ends it: what was done is on the disk when this returns.
  func commit() throws(StoreError) { try statements.commit.run() }

  /// Takes it back.
  func rollBack() { connection.rollBackIfOpen() }

  /// A part of a transaction that can be taken back by itself.
  enum Part: String {
    case savepoint = "part"
  }

  /// Begins a part.
  func begin(_ part: Part) throws(StoreError) {
    try statements.beginPart.run()
  }

  /// Ends a part that stays.
  func keep(_ part: Part) throws(StoreError) { try statements.keepPart.run() }

  /// Takes a part back.
  func takeBack(_ part: Part) throws(StoreError) {
    try connection.execute("ROLLBACK TO \(part.rawValue); RELEASE \(part.rawValue)")
  }

  // MARK: - Single values

  /// A stored number; nil if there is none.
  func number(_ name: MetaName) throws(StoreError) -> Int64? {
    try statements.readMeta.first(name.rawValue) { row throws(StoreError) in row.optionalInt(0) }
      ?? nil
  }

  /// A stored text; nil if there is none.
  func text(_ name: MetaName) throws(StoreError) -> String? {
    try statements.readMeta.first(name.rawValue) { row throws(StoreError) in row.text(0) } ?? nil
  }

  /// Stores a number.
  func set(_ name: MetaName, _ number: Int64) throws(StoreError) {
    try statements.writeMeta.run(name.rawValue, number)
  }

  /// Stores a text, or that there is none.
  func set(_ name: MetaName, _ text: String?) throws(StoreError) {
    try statements.writeMeta.run(name.rawValue, text)
  }

  // MARK: - Lanes

  /// All lanes.
  func lanes() throws(StoreError) -> [KeptLane] {
    var lanes: [KeptLane] = []
    defer { statements.readLanes.reset() }
    while try statements.readLanes.step() { lanes.append(try Self.lane(statements.readLanes)) }
    return lanes
  }

  private static func lane(_ row: borrowing Statement) throws(StoreError) -> KeptLane {
    for column in 2...5 where !row.int(Int32(column)).isCount {
      throw StoreError(
        kind: .corrupt, operation: "read", subject: "lane \(row.int(0))",
        detail: "its counts are none.")
    }
    return KeptLane(
      number: LaneNumber(raw: row.int(0)), name: row.text(1) ?? "",
      next: UInt64(clamping: row.int(2)), items: Int(row.int(3)), bytes: row.int(4),
      line: Int(row.int(5)), isPaused: row.bool(6))
  }

  /// Stores a lane as it is now.
  func write(_ lane: KeptLane) throws(StoreError) {
    try statements.writeLane.run(
      lane.number.raw, lane.name, Int64(clamping: lane.next), Int64(lane.items), lane.bytes,
      Int64(lane.line), lane.isPaused)
  }
}

/// The names of single values.
enum MetaName: String, CaseIterable {
  /// The number that the first item after a restart is given.
  case nextItem = "next_item"
  /// The number of the present start of the device, and its word.
  case boot
  case bootID = "boot_id"
  /// What this device is called in a file outside of backups.
  case incarnation
  /// Whether it has to ask the relay before it numbers anything.
  case mustRejoin = "must_rejoin"
  /// Whether the device was restored, and has not asked yet how all has ended that the relay has of
  /// the backup.
  case mustInquire = "must_inquire"
  /// The number of the first item that is no part of the backup from which the device was restored.
  case restoredBelow = "restored_below"
  /// The `since` of the last check-in whose answer was taken.
  case since
  /// The item that is being prepared, and how often the app has died over it.
  case preparing
  case deaths
  /// Whether the whole outbox is paused.
  case isPaused = "paused"
  /// The relay's keys that are trusted.
  case ring
}

/// The database's own limits.
enum FileLimits {
  /// The page cache, in KiB.
  static let cacheKiB = 4096
  /// The pages of the log at which it is copied into the database.
  static let checkpointPages = 1000
  /// The size to which a longer log is cut once it has been copied, in bytes.
  static let logBytesKept = 4 << 20
}
