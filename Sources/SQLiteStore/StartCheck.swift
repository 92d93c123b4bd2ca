import Glibc
import RelayCore

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
  /// - Returns: The store that was moved aside now or before, if there is one.
  /// - Throws: ``StoreError/Kind/corrupt`` for a damaged store, which is left as it was.
  func prepare(pageBytes: Int, setsAside: Bool) throws(StoreError) -> SetAsideStore? {
    do throws(StoreError) {
      if try isThere() { try lookAtTables(whole: setsAside) }
      try DatabaseFile.prepare(path: database, pageBytes: pageBytes)
    } catch {
      guard error.kind == .corrupt, setsAside else { throw error }
      let aside = try SetAside.move(folder)
      try DatabaseFile.prepare(path: database, pageBytes: pageBytes)
      return SetAsideStore(folder: aside, reason: error.description)
    }
    return SetAside.latest(in: folder).map { SetAsideStore(folder: $0, reason: nil) }
  }

  // MARK: - Files

  /// Whether there is a store of this version whose tables can be looked at.
  ///
  /// What is no store of ours, or one of another version, ``DatabaseFile`` sees to.
  private func isThere() throws(StoreError) -> Bool {
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

  private func lookAtTables(whole: Bool) throws(StoreError) {
    let connection = try Connection(path: database, access: .readOnly)
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
