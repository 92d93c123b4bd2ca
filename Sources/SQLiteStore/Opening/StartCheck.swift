import EventLoop
import Glibc
import RelayCore
import SQLite
import SQLitePages

/// The checks before a store is opened, whose time does not grow with the store.
///
/// They cover the file's header, its length and its log, the schema, both edges of every table, and
/// the small tables whole. Pages in between are read when they are needed; damaged ones are
/// quarantined then.
struct StartCheck {
  private let folder: String
  private let database: String

  init(_ data: borrowing DataFolder) {
    folder = data.path
    database = data.database
  }

  /// Brings the database to the latest version, or makes a new one.
  ///
  /// - Parameter setsAside: Whether to move a damaged store aside and begin a new one.
  /// - Returns: The findings, with the store that was moved aside now or before.
  /// - Throws: ``StoreError/Kind/corrupt`` for a damaged store, which is left unchanged.
  func prepare(pageBytes: Int, setsAside: Bool) throws(StoreError) -> StartFindings {
    var findings = StartFindings()
    do throws(StoreError) {
      try renewLog()
      if try isThere(&findings) {
        try lookAtTables(
          try Connection(path: database, access: .readOnly), whole: setsAside)
      }
      findings.setAside = SetAside.latest(in: folder).map { SetAsideStore(folder: $0, reason: nil) }
      if let aside = findings.setAside?.folder, isToBeBegun {
        // An earlier start was cut off between moving the old store and beginning this one.
        findings.setAside?.tokens = try begin(besides: aside, pageBytes: pageBytes)
      }
      try DatabaseFile.prepare(path: database, pageBytes: pageBytes) {
        connection throws(StoreError) in
        try lookAtTables(connection, whole: setsAside)
        try lookAtCodes(connection)
      }
    } catch {
      guard error.kind == .corrupt, setsAside else { throw error }
      let aside = try SetAside.move(folder)
      let tokens = try begin(besides: aside, pageBytes: pageBytes)
      try DatabaseFile.prepare(path: database, pageBytes: pageBytes)
      findings.note = nil
      findings.setAside = SetAsideStore(
        folder: aside, reason: error.description, tokens: tokens)
    }
    findings.mayLackTokens = findings.setAside != nil || StoreMarker.lacksTokens(in: folder)
    return findings
  }

  /// Makes a database with the tokens of the store that was moved aside.
  ///
  /// It gets its name once they are in it, so that it is never used without them.
  private func begin(
    besides aside: String, pageBytes: Int
  ) throws(StoreError) -> CarriedTokens {
    let part = database + ".part"
    for end in ["", "-wal", "-shm", "-journal"] { unlink(part + end) }
    return try Salvage.beginWithTokens(
      of: aside, in: folder, part: part, database: database, pageBytes: pageBytes)
  }

  // MARK: - Files

  /// Whether there is neither a database nor any sign of an earlier one.
  private var isToBeBegun: Bool {
    DataFolder.size(ofFile: database) == 0 && DataFolder.size(ofFile: database + "-wal") == 0
      && access(database + "-journal", F_OK) != 0 && !StoreMarker.exists(in: folder)
  }

  private static let renewedBytesPerStep = 1 << 20

  /// Writes the log once more in its place, and syncs it, before anybody reads it.
  ///
  /// Its end may be commits whose process ended before their sync. SQLite accepts them, and what is
  /// reported or built upon them has to survive a power cut. If that sync had failed, the kernel
  /// would take for written what it could not write, and a mere sync would do nothing (fsync(2)).
  private func renewLog() throws(StoreError) {
    let path = database + "-wal"
    guard DataFolder.size(ofFile: path) > 0 else { return }
    let file = try FileDescriptor.open(path, O_RDWR)
    var piece = [UInt8](repeating: 0, count: Self.renewedBytesPerStep)
    var place: off_t = 0
    while true {
      let count = pread(file.number, &piece, piece.count, place)
      if count < 0 { throw StoreError(errno: errno, operation: "read", subject: path) }
      guard count > 0 else { break }
      let written = pwrite(file.number, &piece, count, place)
      // Only a file system that never overwrites has no room for this; the log is as it was then.
      if written < 0, errno == ENOSPC || errno == EDQUOT { break }
      guard written > 0 else {
        throw StoreError(errno: errno, operation: "write", subject: path)
      }
      place += off_t(written)
    }
    try file.sync(path)
  }

  /// Whether there is a store of this version whose tables can be checked.
  ///
  /// ``DatabaseFile`` handles a file that is not a store of ours, or one of another version.
  private func isThere(_ findings: inout StartFindings) throws(StoreError) -> Bool {
    guard access(database + "-journal", F_OK) != 0 else { return false }
    guard DataFolder.size(ofFile: database) > 0 else {
      guard StoreMarker.exists(in: folder) else { return false }
      throw StoreError(
        kind: .corrupt, operation: "open", subject: database,
        detail: "it is empty or missing, though a store was begun here, as the file "
          + "\(StoreMarker.path(in: folder)) says. Put a copy of the folder back, or move the "
          + "whole folder away to begin anew.")
    }
    let image = try DatabaseImage(ofStoreIn: folder)
    guard image.hasHeader, let header = image.page(1),
      Int64(header.number32(at: 68)) == DatabaseFile.applicationID
    else { return false }
    if image.missingPages > 0 {
      throw damaged(
        "it is cut off: \(image.missingPages) of its \(image.pageCount) pages are missing")
    }
    if let loss = image.loss {
      throw damaged(loss.description, missingCommits: image.missingCommits)
    }
    if image.logImage.commitsBehindDamage > 0 {
      findings.note =
        "behind the end of the store's log lie \(image.logImage.commitsBehindDamage) commits that "
        + "do not go on from it and are not taken: syncs that fail and power cuts leave such ones, "
        + "never acknowledged, and so would damage to the last that were"
    }
    return image.schemaVersion == Migration.latest
  }

  private func damaged(_ what: String, missingCommits: Int64 = 0) -> StoreError {
    // An older copy may be wanted, where the latest store is lost for good.
    let wanted =
      missingCommits > 0
      ? " If it is an older copy that you have put back, delete the file "
        + "\(AcknowledgedMark.path(in: folder))." : ""
    return StoreError(
      kind: .corrupt, operation: "open", subject: database,
      detail: "\(what). \(StoreError.corruptAdvice)\(wanted)")
  }

  // MARK: - Tables

  /// The number of rows that are read of tables that are mostly small.
  private static let readWholeMax = 4096
  private static let edgeRows = 32
  /// Tables of which the relay only relies on being able to append.
  private static let contents: Set<String> = ["envelope", "response"]

  /// - Parameter connection: A connection to the database, perhaps in the transaction that brings
  ///   it to this version.
  private func lookAtTables(
    _ connection: borrowing Connection, whole: Bool
  ) throws(StoreError) {
    let missing = try Set(Migration.tables).subtracting(Self.tables(connection))
    guard missing.isEmpty else {
      throw damaged("the tables \(missing.sorted().joined(separator: ", ")) are missing")
    }
    for table in Migration.tables {
      // Posted and response content is read when it is needed, and quarantined if it cannot be.
      guard !Self.contents.contains(table) else {
        try read("SELECT serial FROM \(table) ORDER BY 1 DESC LIMIT 1", connection)
        continue
      }
      let edge = "SELECT * FROM \(table) ORDER BY 1"
      try read("\(edge) LIMIT \(table == "line" && whole ? -1 : Self.edgeRows)", connection)
      try read("\(edge) DESC LIMIT \(Self.edgeRows)", connection)
    }
    for table in ["client", "lane", "upstream", "paused", "parked_lane", "checks_in"] {
      try read("SELECT * FROM \(table) LIMIT \(Self.readWholeMax)", connection)
    }
    _ = try Writer.State(reading: connection)
  }

  /// The queries for rows with which a relay does not start, wherever in their tables they are.
  private static let senselessRows = [
    ("a token that is none", StoreRule.tokens.sql),
    ("a standing", "SELECT serial FROM line WHERE standing NOT IN \(Standing.codeList)"),
    (
      "a pause of something",
      "SELECT number FROM paused WHERE kind NOT IN \(PauseTarget.Kind.codeList)"
    ),
  ]

  /// Checks for such rows.
  ///
  /// Only where a store is migrated, since that reads all of it anyway; a start of this version
  /// finds such a row when it comes to it.
  private func lookAtCodes(_ connection: borrowing Connection) throws(StoreError) {
    for (what, sql) in Self.senselessRows {
      let row = try Statement(sql, on: connection)
      if try row.step() { throw .invalidRow("\(what) (\(row.text(0) ?? ""))") }
    }
  }

  private func read(_ sql: String, _ connection: borrowing Connection) throws(StoreError) {
    let row = try Statement(sql, on: connection)
    while try row.step() {}
  }

  private static func tables(
    _ connection: borrowing Connection
  ) throws(StoreError) -> Set<String> {
    Set(
      try Statement("SELECT name FROM sqlite_schema WHERE type = 'table'", on: connection)
        .rows { $0.text(0) ?? "" })
  }
}

extension Migration {
  /// The tables of a store of the latest version.
  static let tables: [String] = all.flatMap { migration in
    migration.sql.split(separator: "\n").compactMap { line in
      let words = line.split { $0 == " " || $0 == "(" }
      guard words.count >= 3, words[0] == "CREATE", words[1] == "TABLE" else { return nil }
      return String(words[2])
    }
  }
}
