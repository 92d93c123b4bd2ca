import Glibc
import RelayCore

/// What a start has found of a store that it opened.
struct StartFindings: Sendable, Equatable {
  /// The damaged store that lies aside in the folder.
  var setAside: SetAsideStore?
  /// Whether tokens, or that some were revoked, may have been lost with a damaged store.
  var mayLackTokens = false
  /// What was met and does no harm, in words.
  var note: String?
}

/// What is looked at before a store is opened, in a time that does not grow with it.
///
/// Header, length and log of the file; the schema; both edges of every table, and the small tables
/// whole. Pages in between are met when they are needed: what stands on them is quarantined then.
struct StartCheck {
  private let folder: String
  private let database: String

  init(_ data: borrowing DataFolder) {
    folder = data.path
    database = data.database
  }

  /// Brings the database to the latest version, or makes it.
  ///
  /// - Parameter setsAside: Whether a damaged store is moved aside, and a new one begun.
  /// - Returns: What was found, the store that was moved aside now or before among it.
  /// - Throws: ``StoreError/Kind/corrupt`` for a damaged store, which is left as it was.
  func prepare(pageBytes: Int, setsAside: Bool) throws(StoreError) -> StartFindings {
    var findings = StartFindings()
    do throws(StoreError) {
      try syncLog()
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

  /// Makes a database with the tokens of the one that was moved aside: it gets its name once they
  /// are in it, so that none is ever used without them.
  private func begin(
    besides aside: String, pageBytes: Int
  ) throws(StoreError) -> CarriedTokens {
    let part = database + ".part"
    for end in ["", "-wal", "-shm", "-journal"] { unlink(part + end) }
    return try Salvage.beginWithTokens(
      of: aside, in: folder, part: part, database: database, pageBytes: pageBytes)
  }

  // MARK: - Files

  /// Whether there is neither a database nor anything that says that there was one.
  private var isToBeBegun: Bool {
    DataFolder.size(ofFile: database) == 0 && DataFolder.size(ofFile: database + "-wal") == 0
      && access(database + "-journal", F_OK) != 0 && !StoreMarker.exists(in: folder)
  }

  /// Has the log on disk before anybody reads it.
  ///
  /// Its end may be a commit whose process was killed before the sync. SQLite takes it up all the
  /// same, and what is told or built upon then has to outlast a power cut.
  private func syncLog() throws(StoreError) {
    guard DataFolder.size(ofFile: database + "-wal") > 0 else { return }
    try DataFolder.sync(file: database + "-wal")
  }

  /// Whether there is a store of this version whose tables can be looked at.
  ///
  /// What is no store of ours, or one of another version, ``DatabaseFile`` sees to.
  private func isThere(_ findings: inout StartFindings) throws(StoreError) -> Bool {
    guard access(database + "-journal", F_OK) != 0 else { return false }
    guard DataFolder.size(ofFile: database) > 0 else {
      guard StoreMarker.exists(in: folder) else { return false }
      throw damaged(
        "it is empty or missing, though a store was begun here, as the file "
          + "\(StoreMarker.path(in: folder)) says")
    }
    let image = try DatabaseImage(path: database)
    guard image.hasHeader, let header = image.page(1),
      Int64(header.number32(at: 68)) == DatabaseFile.applicationID
    else { return false }
    if image.missingPages > 0 {
      throw damaged(
        "it is cut off: \(image.missingPages) of its \(image.pageCount) pages are missing")
    }
    if image.logImage.isDamaged {
      throw damaged(
        "its log is damaged, and SQLite would drop \(image.logImage.commitsBehindDamage) commits "
          + "that were acknowledged")
    }
    if image.logImage.commitsBehindDamage > 0 {
      findings.note =
        "behind the end of the store's log lie \(image.logImage.commitsBehindDamage) commits that "
        + "do not go on from it and are not taken: syncs that fail and power cuts leave such ones, "
        + "never acknowledged, and so would damage to the last that were"
    }
    return image.schemaVersion == Migration.latest
  }

  private func damaged(_ what: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "open", subject: database,
      detail: "\(what). \(StoreError.corruptAdvice)")
  }

  // MARK: - Tables

  /// So many rows are read of tables that are mostly small.
  private static let readWholeMax = 4096
  private static let edgeRows = 32
  /// Tables of which the relay relies on nothing but that it can go on at the end.
  private static let contents: Set<String> = ["envelope", "response"]

  /// - Parameter connection: To the database, or in the transaction that brings it to this version.
  private func lookAtTables(
    _ connection: borrowing Connection, whole: Bool
  ) throws(StoreError) {
    let missing = try Set(Migration.tables).subtracting(Self.tables(connection))
    guard missing.isEmpty else {
      throw damaged("the tables \(missing.sorted().joined(separator: ", ")) are missing")
    }
    for table in Migration.tables {
      // What was posted and answered is read when it is needed, and set apart if it cannot be.
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

  /// What a relay does not start with, wherever in its table it stands.
  private static let senselessRows = [
    ("a token that is none", StoreRule.tokens.sql),
    ("a standing", "SELECT serial FROM line WHERE standing NOT BETWEEN 0 AND 3"),
    ("a pause of something", "SELECT number FROM paused WHERE kind NOT BETWEEN 0 AND 2"),
  ]

  /// Asked where a store is brought to another version alone, since that goes through all of it
  /// anyway; a start of this version meets such a row when it comes to it.
  private func lookAtCodes(_ connection: borrowing Connection) throws(StoreError) {
    for (what, sql) in Self.senselessRows {
      let row = try Statement(sql, on: connection)
      if try row.step() { throw .senseless("\(what) (\(row.text(0) ?? ""))") }
    }
  }

  private func read(_ sql: String, _ connection: borrowing Connection) throws(StoreError) {
    let row = try Statement(sql, on: connection)
    while try row.step() {}
  }

  private static func tables(
    _ connection: borrowing Connection
  ) throws(StoreError) -> Set<String> {
    let row = try Statement("SELECT name FROM sqlite_schema WHERE type = 'table'", on: connection)
    var names: Set<String> = []
    while try row.step() { names.insert(row.text(0) ?? "") }
    return names
  }
}

extension Migration {
  /// The tables that a store of the latest version has.
  static let tables: [String] = all.flatMap { migration in
    migration.sql.split(separator: "\n").compactMap { line in
      let words = line.split { $0 == " " || $0 == "(" }
      guard words.count >= 3, words[0] == "CREATE", words[1] == "TABLE" else { return nil }
      return String(words[2])
    }
  }
}
