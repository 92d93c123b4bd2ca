#if PostgreSQL
import Postgres

/// A connection to one of the database's servers.
///
/// Whatever goes wrong on it is told to the choice of servers, so that others are tried first where
/// that helps. What becomes of the connection then is for whoever has it.
struct ServerConnection: ~Copyable {
  private var connection: PostgresConnection
  private let servers: ServerChoice

  init(_ connection: consuming PostgresConnection, among servers: ServerChoice) {
    self.connection = connection
    self.servers = servers
  }

  /// The place of its host among the address's.
  var host: Int { connection.host }

  /// Runs commands as one transaction; see `PostgresConnection`.
  mutating func run(_ commands: [PostgresCommand]) throws(PostgresError) -> [PostgresRows] {
    do throws(PostgresError) {
      return try connection.run(commands)
    } catch {
      servers.note(error, at: connection.host)
      throw error
    }
  }

  /// Runs a script as one transaction; see `PostgresConnection`.
  mutating func execute(script: String) throws(PostgresError) {
    do throws(PostgresError) {
      try connection.execute(script: script)
    } catch {
      servers.note(error, at: connection.host)
      throw error
    }
  }
}
#endif
