import EventLoop
import Glibc
import RelayCore
import SQLite

/// A data folder that is moved from.
package final class SQLiteMoveSource: MoveSource {
  /// See ``MovedRows``.
  package let place: String
  private let folder: DataFolder
  /// Once it is prepared.
  private var rows: SQLiteRows?

  /// Takes the store in a folder, for nobody else meanwhile, and changes nothing in it.
  ///
  /// - Throws: ``StoreError`` if there is none, or a relay has it.
  package init(folder path: String) throws(StoreError) {
    // A folder that may not be read is another matter than one without a store.
    guard (try DataFolder.sizeIfThere(ofFile: DataFolder.database(in: path)) ?? 0) > 0 else {
      throw StoreError(
        kind: .other, operation: "move", subject: path, detail: "there is no store in it.")
    }
    place = try MovePlace.absolute(path)
    folder = try DataFolder.claim(path)
  }

  /// See ``MoveSource``.
  package func prepare() throws(StoreError) {
    let path = folder.path
    let mayLackTokens = try StartCheck(folder)
      .prepare(pageBytes: StoreTuning.pageBytes, setsAside: false).mayLackTokens
    let connection = try Connection(path: folder.database, access: .readWrite)
    try connection.execute("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768")
    try Self.refuseQuarantined(connection, path)
    if let damage = try StoreRule.damageOfMoved(connection) {
      throw StoreError(
        kind: .corrupt, operation: "move", subject: path,
        detail: "its rows do not fit together (\(damage)). \(damageAdvice)")
    }
    if mayLackTokens {
      guard try connection.number("SELECT count(*) FROM token") > 0 else {
        throw StoreError(
          kind: .other, operation: "move", subject: path,
          detail:
            "its tokens were lost, so a relay in a new place would be open to everybody. Make "
            + "a token for an operator first.")
      }
    }
    rows = SQLiteRows(
      of: connection, bodies: folder.bodies,
      advice: "Start the relay on this folder and cancel it, or give it new content; then move.")
  }

  /// See ``MoveSource``.
  package var damageAdvice: String {
    "'waystation store check --data \(place)' names the damage, and 'waystation store salvage' "
      + "makes a sound store of it, which can be moved."
  }

  /// The number of ended envelopes that were moved as they are, though bytes of them have changed
  /// or were lost since they were accepted.
  package var changedCount: Int { rows?.changedCount ?? 0 }

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
  package func origin() throws(StoreError) -> Int64? {
    try SQLiteRows.origin(of: folder.database)
  }

  /// See ``MovedRows``.
  package func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard rows != nil else { preconditionFailure("it is not prepared") }
    try rows?.forEachBatch(of: table, body)
  }

  /// See ``MoveSource``.
  package func depart(_ mark: MoveMark) throws(StoreError) {
    do throws(StoreError) {
      try MoveFile.write(mark, in: folder.path)
    } catch {
      throw error.ofMove
    }
  }

  /// Lets a relay start on a folder again that has been moved away.
  ///
  /// - Returns: Where it has been moved to; nil if it was not.
  package static func reopen(folder path: String) throws(StoreError) -> String? {
    // Before the lock, whose file would be made in any folder.
    guard let mark = try MoveFile.read(in: path) else {
      if try DataFolder.sizeIfThere(ofFile: path) != nil { return nil }
      throw StoreError(errno: ENOENT, operation: "reopen", subject: path)
    }
    let folder = try DataFolder.claim(path)
    guard mark.side == .departed else { throw mark.refusal(to: "reopen", path) }
    try MoveFile.remove(in: folder.path)
    return mark.place
  }
}

extension StoreError {
  /// The same for somebody who moves: no relay runs that would go on by itself.
  var ofMove: StoreError {
    var error = self
    error.detail = detail.replacing(StoreError.roomAdvice, with: "Make room on the disk.")
    return error
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
