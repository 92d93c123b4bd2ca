#if PostgreSQL
import Postgres
import PostgresTesting

/// Asks a database, each time by another connection: the server may have changed meanwhile.
struct DatabaseAsker: Sendable {
  private let url: @Sendable () -> String

  init(url: String) { self.url = { url } }

  /// Asks the one of a pair that writes, whatever the other one says.
  init(_ pair: any DatabasePair) { url = { pair.writerURL } }

  /// Carries out a statement, and returns what it answers as text.
  @discardableResult
  func ask(_ statement: String, columns: Int = 0) async throws -> [[String]] {
    let address = try PostgresAddress(url: url(), applicationName: "test")
    return try await onThread {
      var connection = try PostgresConnection(
        to: address, connectTimeoutMs: 10_000, silenceMs: 30_000)
      let rows = try connection.run([PostgresCommand(sql: statement)])[0]
      return (0..<rows.count).map { row in (0..<columns).map { rows.text(row, $0) } }
    }
  }
}
#endif
