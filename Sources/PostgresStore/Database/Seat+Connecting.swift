#if PostgreSQL
import Postgres

// Connections that write, and the tables that they need.
extension Seat {
  /// Connects to a server that writes.
  static func connect(
    to servers: ServerChoice, _ limits: DatabaseLimits, _ isGivenUp: () -> Bool = { false }
  ) throws(PostgresError) -> ServerConnection {
    var connection = try servers.connect(
      timeoutMs: limits.connectTimeoutMs, silenceMs: limits.silenceMs, isGivenUp: isGivenUp)
    _ = try connection.run([.goingByIndex])
    return connection
  }

  /// Makes the tables where there are none, and adds what those of an older relay lack; of several
  /// relays one does it.
  static func prepare(_ connection: inout ServerConnection) throws(PostgresError) {
    let isThere = try connection.run([
      PostgresCommand("SELECT to_regclass('schema_version') IS NOT NULL")
    ])
    if !isThere[0].bool(0, 0) { try makeTables(&connection) }
    do throws(PostgresError) {
      let versions = try connection.run([.tableVersions])[0]
      guard versions.count == 1, let version = versions.int64OrNil(0, 0),
        version < Int64(Schema.version)
      else { return }
    } catch {
      // faultOfTables() says what is wrong with them.
      guard error.sqlState == undefinedTable else { throw error }
      return
    }
    try connection.execute(script: Schema.expansion)
  }

  private static func makeTables(_ connection: inout ServerConnection) throws(PostgresError) {
    do throws(PostgresError) {
      try connection.execute(script: Schema.script)
    } catch {
      // Another relay has made them at the same moment.
      guard madeByOthers.contains(error.sqlState ?? "") else { throw error }
    }
  }

  /// The SQLSTATE of a table that is not there.
  static let undefinedTable = "42P01"
  /// Those of a table, of its type and of a row of the system's tables that are there already.
  private static let madeByOthers: Set = ["42P07", "42710", "23505"]
}
#endif
