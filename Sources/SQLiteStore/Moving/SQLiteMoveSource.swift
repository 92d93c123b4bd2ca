import EventLoop
import Glibc
import RelayCore

/// A data folder that is moved from.
package final class SQLiteMoveSource: MoveSource {
  /// See ``MovedRows``.
  package let place: String
  private let folder: DataFolder
  private var rows: SQLiteRows

  /// Opens the store in a folder, for nobody else meanwhile.
  ///
  /// - Throws: ``StoreError`` if there is none, a relay has it, or a part of it cannot be moved.
  package init(folder path: String) throws(StoreError) {
    guard DataFolder.size(ofFile: DataFolder.database(in: path)) > 0 else {
      throw StoreError(
        kind: .other, operation: "move", subject: path, detail: "there is no store in it.")
    }
    place = try MovePlace.absolute(path)
    folder = try DataFolder.claim(path)
    var mayLackTokens = false
    if try MoveFile.read(in: path) == nil {
      mayLackTokens = try StartCheck(folder)
        .prepare(pageBytes: StoreTuning.pageBytes, setsAside: false).mayLackTokens
    }
    let connection = try Connection(path: folder.database, access: .readWrite)
    try connection.execute("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768")
    try Self.refuseQuarantined(connection, path)
    if mayLackTokens {
      guard try connection.number("SELECT count(*) FROM token") > 0 else {
        throw StoreError(
          kind: .other, operation: "move", subject: path,
          detail:
            "its tokens were lost, so a relay in a new place would be open to everybody. Make "
            + "a token for an operator first.")
      }
    }
    rows = SQLiteRows(of: connection, bodies: folder.bodies)
  }

  /// The number of ended envelopes that were moved as they are, though bytes of them have changed
  /// since they were accepted.
  package var changedCount: Int { rows.changedCount }

  private static func refuseQuarantined(
    _ connection: borrowing Connection, _ path: String
  ) throws(StoreError) {
    let count = try connection.number(
      "SELECT count(*) FROM quarantine WHERE serial IN (SELECT serial FROM line)")
    guard count > 0 else { return }
    throw StoreError(
      kind: .corrupt, operation: "move", subject: path,
      detail: "\(count) of its waiting envelopes are quarantined, since they cannot be read. Start "
        + "the relay on it and cancel them, or run 'waystation store salvage'; then move.")
  }

  /// See ``MovedRows``.
  package func mark() throws(StoreError) -> MoveMark? { try MoveFile.read(in: folder.path) }

  /// See ``MovedRows``.
  package func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    try rows.forEachBatch(of: table, body)
  }

  /// See ``MoveSource``.
  package func depart(_ mark: MoveMark) throws(StoreError) {
    try MoveFile.write(mark, in: folder.path)
  }

  /// Lets a relay start on a folder again that has been moved away.
  ///
  /// - Returns: Where it has been moved to; nil if it was not.
  package static func reopen(folder path: String) throws(StoreError) -> String? {
    // Before the lock, whose file would be made in any folder.
    guard let mark = try MoveFile.read(in: path) else { return nil }
    let folder = try DataFolder.claim(path)
    guard mark.side == .departed else { throw mark.refusal(to: "reopen", path) }
    try MoveFile.remove(in: folder.path)
    return mark.place
  }
}

/// How folders are named in marks.
enum MovePlace {
  /// The path from the root on, of a folder that may have yet to be made.
  static func absolute(_ path: String) throws(StoreError) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    if let found = real(path) { return found }
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    guard let found = real(parent.isEmpty ? "/" : parent) else {
      throw StoreError(errno: errno, operation: "find", subject: parent)
    }
    let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    return (found == "/" ? "" : found) + "/" + name
  }

  private static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }
}
