import RelayCore
import SQLiteStore
#if PostgreSQL
import Postgres
import PostgresStore
#endif

/// Where a store is that is moved.
package enum StorePlace: Sendable {
  case folder(String)
  case database(PostgresConfiguration)

  /// Reads a word of a command line: a database's URL, or else a folder.
  ///
  /// - Parameter passwordFile: The file with the password of the database's user.
  package init(_ word: String, passwordFile: String?) {
    guard Self.isURL(word) else {
      self = .folder(word)
      return
    }
    var database = PostgresConfiguration()
    database.url = Secret(word)
    database.passwordFile = passwordFile
    self = .database(database)
  }

  /// Where a relay with this configuration has its store.
  package init(of configuration: Configuration) {
    self = configuration.store.postgres.map { .database($0) } ?? .folder(configuration.data)
  }

  /// Whether a word names a database.
  package static func isURL(_ word: String) -> Bool {
    word.hasPrefix("postgresql://") || word.hasPrefix("postgres://")
  }

  /// Whether it is a database.
  package var isDatabase: Bool {
    if case .database = self { true } else { false }
  }

  /// What is wrong with it; nil if nothing is.
  package var flaw: String? {
    guard case .database(let database) = self else { return nil }
    let flaw = PostgresConfiguration.flaw(in: database.url ?? Secret(""))
    #if PostgreSQL
    return flaw.map { "the URL " + $0 }
    #else
    return flaw
    #endif
  }
}

/// Moves a store from a data folder into a database, or back.
package enum StoreMover {
  /// What was moved.
  package struct Report: Sendable {
    /// Where it was, and where it is.
    package var places: (from: String, to: String)
    /// How many rows of what.
    package var move: StoreMove.Report
    /// The number of ended envelopes of which bytes had changed, or were lost, since they were
    /// accepted.
    package var changedCount = 0
  }

  /// Moves everything.
  ///
  /// - Precondition: one of the places is a folder, and the other one a database without a flaw.
  /// - Parameter progress: Is told what is being done; ends the move by throwing.
  package static func run(
    from source: StorePlace, to target: StorePlace, progress: @escaping StoreMove.Progress
  ) throws(StoreError) -> Report {
    #if PostgreSQL
    let number = Int64.random(in: 1...Int64.max)
    switch (source, target) {
    case (.folder(let path), .database(let database)):
      let folder = try SQLiteMoveSource(folder: path)
      let end = try PostgresMoveEnd(at: try address(of: database))
      defer { end.leave() }
      let move = try StoreMove.run(from: folder, to: end, number: number, progress: progress)
      return Report(
        places: (folder.place, end.place), move: move, changedCount: folder.changedCount)
    case (.database(let database), .folder(let path)):
      let folder = try SQLiteMoveTarget(folder: path)
      let end = try PostgresMoveEnd(source: try address(of: database))
      defer { end.leave() }
      let move = try StoreMove.run(from: end, to: folder, number: number, progress: progress)
      return Report(
        places: (end.place, folder.place), move: move, changedCount: folder.lostCount)
    default: preconditionFailure("from a folder to a database, or back")
    }
    #else
    throw .withoutPostgreSQL
    #endif
  }

  /// Lets a relay start again on a store that has been moved away.
  ///
  /// - Returns: Where it has been moved to; nil if it was not.
  package static func reopen(_ place: StorePlace) throws(StoreError) -> String? {
    switch place {
    case .folder(let path): return try SQLiteMoveSource.reopen(folder: path)
    case .database(let database):
      #if PostgreSQL
      return try PostgresMoveEnd.reopen(try address(of: database))
      #else
      throw .withoutPostgreSQL
      #endif
    }
  }

  #if PostgreSQL
  private static func address(
    of database: PostgresConfiguration
  ) throws(StoreError) -> PostgresAddress {
    do throws(PostgresError) {
      return try database.address
    } catch {
      throw StoreError(
        kind: .other, operation: error.operation, subject: error.subject, detail: error.detail)
    }
  }
  #endif
}

#if !PostgreSQL
extension StoreError {
  fileprivate static let withoutPostgreSQL = StoreError(
    kind: .other, operation: "move", subject: "a store in PostgreSQL",
    detail: "this program was built without PostgreSQL")
}
#endif
