import EventLoop
import Glibc
import RelayCore
import SQLite
import SQLitePages

/// Copies a store as of one moment, with or without a running relay.
///
/// The database is copied by SQLite's online backup (<https://www.sqlite.org/backup.html>) within
/// one read transaction, so that no commit makes it start over. Meanwhile the relay's log cannot
/// start over: it grows by what is accepted. Bodies in files of their own are copied before,
/// without any transaction, in rounds: after a long round, little is left for the next.
package final class StoreBackup {
  /// The result of a copy.
  package struct Report: Equatable, Sendable {
    /// The number of pages of the database.
    package var pages = 0
    /// The number of body files that were copied.
    package var bodies = 0
    /// Bytes of both on disk.
    package var bytes: Int64 = 0
    /// The number of missing body files, which a rescue leaves out.
    package var missingBodies = 0
    /// Whether a relay was running on the store.
    package var isInUse = false
  }

  /// The part that is being copied, for a line of progress.
  package enum Progress: Equatable, Sendable {
    /// Body files, with the number so far.
    case bodies(Int)
    /// Pages of the database.
    case pages(done: Int, of: Int)
  }

  /// Called before each piece is copied; ends the copy by throwing.
  package typealias Observer = (Progress) throws(StoreError) -> Void

  /// The number of pages copied between two reports of progress: 8 MiB of pages of 8 KiB.
  private static let pagesAStep: Int32 = 1024
  /// The most rounds of copying bodies while some vanish before the transaction begins.
  private static let roundsMax = 20

  private let source: String
  /// The path at which a body of this name can be read.
  private let bodyPath: (String) -> String
  private let target: String
  private let progress: Observer
  private var report = Report()
  private var copied: Set<String> = []

  private init(
    source: String, target: String, bodyPath: @escaping (String) -> String,
    progress: @escaping Observer
  ) {
    self.source = source
    self.bodyPath = bodyPath
    self.target = target
    self.progress = progress
  }

  /// Copies the store in `source` into `target`, which must be absent, empty, or hold nothing but a
  /// copy that was cut off.
  ///
  /// Everything is on disk when this returns. The database gets its name last: a copy that was cut
  /// off has no database, and the relay does not take it for a store. A copy that fails leaves
  /// nothing behind.
  ///
  /// - Throws: ``StoreError`` if there is no store, or no room for a copy, and what `progress`
  ///   throws.
  package static func run(
    from source: String, to target: String, progress: @escaping Observer = { _ in }
  ) throws(StoreError) -> Report {
    let backup = StoreBackup(
      source: source, target: target, bodyPath: { "\(source)/bodies/\($0)" }, progress: progress)
    try backup.copyAll()
    return backup.report
  }

  /// Removes the files that reading a copy has left beside its database.
  ///
  /// - Throws: ``StoreError`` if a relay has begun to use the copy, or it cannot be opened.
  package static func tidy(_ target: String) throws(StoreError) {
    let folder = try DataFolder.claim(target)
    let connection = try Connection(path: folder.database, access: .readWrite)
    // The last connection to close a database that was read removes them.
    _ = try connection.number("SELECT count(*) FROM sqlite_schema")
  }

  /// Copies what one of the relay's own connections reads, as of one moment, wherever its files
  /// are.
  ///
  /// Missing bodies are counted and left out.
  static func rescue(
    _ connection: borrowing Connection, bodies: BodyFiles, to target: String
  ) throws(StoreError) -> Report {
    let backup = StoreBackup(
      source: connection.path, target: target, bodyPath: bodies.readablePath(of:),
      progress: { _ in })
    let folder = try CopyFolder.claim(target)
    do throws(StoreError) {
      try connection.execute("BEGIN")
      try backup.copyWhatIsThere(connection, into: folder)
      connection.rollBackIfOpen()
    } catch {
      connection.rollBackIfOpen()
      folder.discard()
      throw error
    }
    return backup.report
  }

  private func copyWhatIsThere(
    _ connection: borrowing Connection, into folder: borrowing CopyFolder
  ) throws(StoreError) {
    let names = try bodyNames(connection)
    _ = try copyMissing(names, into: folder.bodies)
    report.bodies = copied.count
    report.missingBodies = names.count - copied.count
    for name in copied { report.bytes += DataFolder.size(ofFile: "\(folder.bodies)/\(name)") }
    try copyDatabase(connection, to: folder.part)
    try finish(folder)
  }

  private func copyAll() throws(StoreError) {
    let database = DataFolder.database(in: source)
    guard DataFolder.size(ofFile: database) > 0 else {
      throw StoreError(
        kind: .other, operation: "back up", subject: source, detail: "there is no store in it.")
    }
    let folder = try CopyFolder.claim(target)
    do throws(StoreError) {
      try copy(database, into: folder)
    } catch {
      folder.discard()
      throw error
    }
  }

  private func copy(
    _ database: String, into folder: borrowing CopyFolder
  ) throws(StoreError) {
    // Without a relay, no other process may begin to write or to sweep during the copy.
    let lock = try lockIfIdle()
    defer { withExtendedLifetime(lock) {} }
    if !report.isInUse { try requireWholeLog(database) }
    let connection = try Connection(path: database, access: .readOnly)
    guard try connection.number("PRAGMA application_id") == DatabaseFile.applicationID else {
      throw StoreError(
        kind: .other, operation: "back up", subject: database, detail: "it is no store of ours.")
    }
    let names = try copyBodies(connection, into: folder.bodies)
    try copyDatabase(connection, to: folder.part)
    try connection.execute("COMMIT")
    dropStrangers(known: names, in: folder.bodies)
    try finish(folder)
  }

  /// Refuses a log of which SQLite would take a part alone, before it makes the log's index anew.
  private func requireWholeLog(_ database: String) throws(StoreError) {
    guard let loss = try DatabaseImage(ofStoreIn: source).loss else { return }
    throw StoreError(
      kind: .corrupt, operation: "back up", subject: database,
      detail: "\(loss). \(StoreError.corruptAdvice)")
  }

  private func lockIfIdle() throws(StoreError) -> FolderLock? {
    do throws(StoreError) {
      return try FolderLock(reading: source)
    } catch {
      guard error.kind == .inUse else { throw error }
      report.isInUse = true
      return nil
    }
  }

  // MARK: - Bodies

  /// Copies the bodies, and leaves the connection in a transaction whose bodies are all copied.
  ///
  /// - Returns: The names of the transaction's bodies.
  private func copyBodies(
    _ connection: borrowing Connection, into folder: String
  ) throws(StoreError) -> Set<String> {
    // Without a transaction: a body that vanishes meanwhile has ended, and is in no later moment.
    _ = try copyMissing(try bodyNames(connection), into: folder)
    for _ in 0..<Self.roundsMax {
      try connection.execute("BEGIN")
      let names = try bodyNames(connection)
      if try copyMissing(names, into: folder) {
        report.bodies = names.count
        return Set(names)
      }
      try connection.execute("COMMIT")
    }
    throw StoreError(
      kind: .other, operation: "back up", subject: source,
      detail: "bodies go faster than they can be copied. Try again when there is less to do, or "
        + "run 'waystation store check' if this goes on: files may be missing.")
  }

  private func bodyNames(_ connection: borrowing Connection) throws(StoreError) -> [String] {
    try Statement("SELECT name FROM body_file", on: connection).rows { $0.text(0) ?? "" }
  }

  /// Copies the bodies that were not copied yet; false if one has vanished.
  private func copyMissing(_ names: [String], into folder: String) throws(StoreError) -> Bool {
    var isWhole = true
    for name in names where !copied.contains(name) {
      guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")) else { continue }
      if try copyFile(bodyPath(name), to: "\(folder)/\(name)") {
        copied.insert(name)
        try progress(.bodies(copied.count))
      } else {
        isWhole = false
      }
    }
    return isWhole
  }

  /// Deletes bodies of envelopes that were deleted while others were copied.
  private func dropStrangers(known: Set<String>, in folder: String) {
    for name in copied where !known.contains(name) { unlink("\(folder)/\(name)") }
    for name in known { report.bytes += DataFolder.size(ofFile: "\(folder)/\(name)") }
  }

  /// Copies and syncs a file; false if it does not exist any more.
  private func copyFile(_ from: String, to path: String) throws(StoreError) -> Bool {
    let input = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard input >= 0 else {
      if errno == ENOENT { return false }
      throw StoreError(errno: errno, operation: "open", subject: from)
    }
    let old = FileDescriptor(adopting: input)
    let new = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, to: "create")
    try copyBytes(from: old.number, to: new.number, path)
    try new.sync(path)
    return true
  }

  private func copyBytes(from old: Int32, to new: Int32, _ path: String) throws(StoreError) {
    var piece = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      try progress(.bodies(copied.count))
      let count = read(old, &piece, piece.count)
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR { continue }
        throw StoreError(errno: errno, operation: "read", subject: path)
      }
      var done = 0
      while done < count {
        let written = piece.withUnsafeBytes { bytes in
          bytes.baseAddress.map { write(new, $0 + done, count - done) } ?? 0
        }
        if written < 0 {
          if errno == EINTR { continue }
          throw StoreError(errno: errno, operation: "write", subject: path)
        }
        done += written
      }
    }
  }

  // MARK: - The database

  private func copyDatabase(
    _ connection: borrowing Connection, to path: String
  ) throws(StoreError) {
    let copy = try Connection(path: path, access: .create)
    // Nobody relies on the copy before it is complete, and then it is synced.
    try copy.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")
    chmod(path, 0o600)
    report.pages = try connection.copyAll(to: copy, pagesAStep: Self.pagesAStep) {
      done, all throws(StoreError) in try progress(.pages(done: done, of: all))
    }
  }

  private func finish(_ folder: borrowing CopyFolder) throws(StoreError) {
    try DataFolder.sync(file: folder.part)
    try DataFolder.sync(folder: folder.bodies)
    guard rename(folder.part, folder.database) == 0 else {
      throw StoreError(errno: errno, operation: "rename", subject: folder.part)
    }
    report.bytes += DataFolder.size(ofFile: folder.database)
    try DataFolder.sync(folder: target)
    StoreMarker.write(in: target)
  }
}
