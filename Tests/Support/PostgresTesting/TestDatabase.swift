#if PostgreSQL
import Foundation
import Postgres
import Synchronization

/// A place of its own in a real PostgreSQL server, for one test.
///
/// The server is started by the first test that asks for one, and ends with the test's process,
/// however that ends. Tests are skipped where PostgreSQL is not installed:
/// `.enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test")`.
package struct TestDatabase: Sendable {
  /// Where it is, as `postgres`, who may do everything, and without a password.
  package let url: String
  /// The name of the schema or the database.
  package let name: String

  /// Whether PostgreSQL 15 or later is installed on this machine.
  package static var isInstalled: Bool { PostgresServer.programs != nil }

  /// A new, empty schema, which is the only one in the connection's search path.
  package static func fresh() throws -> TestDatabase {
    let name = try make { "CREATE SCHEMA \($0)" }
    let server = try PostgresServer.shared.get()
    return TestDatabase(
      url: server.url(ofDatabase: "postgres") + "?sslmode=disable&options=-csearch_path%3D" + name,
      name: name)
  }

  /// A new, empty database: slower, and for tests that need more than a schema.
  package static func freshDatabase() throws -> TestDatabase {
    let name = try make { "CREATE DATABASE \($0)" }
    let server = try PostgresServer.shared.get()
    return TestDatabase(url: server.url(ofDatabase: name) + "?sslmode=disable", name: name)
  }

  /// Connects to it.
  package func connect(
    _ name: String = "test", silenceMs: Int = 30_000
  ) throws(PostgresError) -> PostgresConnection {
    try PostgresConnection(
      to: PostgresAddress(url: url, applicationName: name), connectTimeoutMs: 30_000,
      silenceMs: silenceMs)
  }

  private static let lastNumber = Atomic(0)

  private static func make(_ statement: (String) -> String) throws -> String {
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    let name = "test_\(number)"
    let server = try PostgresServer.shared.get()
    let whole = TestDatabase(url: server.url(ofDatabase: "postgres"), name: "postgres")
    var connection = try whole.connect()
    _ = try connection.run([PostgresCommand(sql: statement(name))])
    return name
  }
}
#endif
