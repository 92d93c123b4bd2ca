import Foundation
import PostgresTesting
import Testing

/// What the relays of these tests have their store in.
enum StoreEngine: String {
  /// Each in a data folder.
  case sqlite
  /// Each in a place of its own in a PostgreSQL server.
  case postgres

  /// What `WAYSTATION_TEST_STORE` names; by default SQLite.
  static let tried =
    ProcessInfo.processInfo.environment["WAYSTATION_TEST_STORE"].flatMap(StoreEngine.init)
    ?? .sqlite

  /// Whether the tests of files in the data folder make sense.
  static var hasFiles: Bool { tried == .sqlite }

  /// The variables of a relay with an empty store of its own.
  func variables() throws -> [String: String] {
    switch self {
    case .sqlite: [:]
    case .postgres: ["WAYSTATION_POSTGRES_URL": try Self.freshDatabase()]
    }
  }

  private static func freshDatabase() throws -> String {
    #if PostgreSQL
    try TestDatabase.fresh().url
    #else
    throw StartFailure(description: "these tests were built without PostgreSQL")
    #endif
  }
}

extension Trait where Self == ConditionTrait {
  /// Runs only where stores are files in data folders.
  static var ofFiles: Self {
    .enabled(if: StoreEngine.hasFiles, "it is about the files of a data folder")
  }

  /// Runs once, and not again where all stores are in PostgreSQL: where a store is makes no
  /// difference to it.
  static var ofNoStore: Self {
    .enabled(if: StoreEngine.hasFiles, "where the store is makes no difference to it")
  }

  /// Runs once, and not again where all stores are in PostgreSQL: its stores are there anyway.
  static var ofDatabases: Self {
    .enabled(if: StoreEngine.hasFiles, "it has a database of its own in either case")
  }
}
