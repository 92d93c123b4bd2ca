#if PostgreSQL
import Postgres
import RelayCore

/// A connection that reads; used by one thread.
final class DatabaseReader {
  /// Work for a thread that has a reader.
  typealias Job = @Sendable (DatabaseReader) -> Void

  private let servers: ServerChoice
  let limits: DatabaseLimits
  private let isGivenUp: () -> Bool
  private var connection: ServerConnection?
  /// Why the database could not be asked, during the present piece of work; its thread forgets it
  /// before the next one.
  var outage: StoreError?
  /// The place of the host that the last connection was to.
  private(set) var host = 0
  /// The version of the seat that stood at the connection's server.
  private var version = 0

  /// - Parameter isGivenUp: Says whether to give up a connection that is being made.
  init(
    at servers: ServerChoice, _ limits: DatabaseLimits,
    isGivenUp: @escaping () -> Bool = { false }
  ) {
    self.servers = servers
    self.limits = limits
    self.isGivenUp = isGivenUp
  }

  /// One that may take its time, to count everything at a start.
  static func forStart(at servers: ServerChoice) throws(StoreError) -> DatabaseReader {
    var limits = DatabaseLimits()
    limits.silenceMs = limits.startSilenceMs
    let reader = DatabaseReader(at: servers, limits)
    _ = try reader.run([PostgresCommand("SET statement_timeout = 0")])
    return reader
  }

  /// Asks, all as of one moment.
  ///
  /// A connection that has ended meanwhile is made anew once: reading twice does no harm.
  func run(_ commands: [PostgresCommand]) throws(StoreError) -> [PostgresRows] {
    guard commands.count > 1 else { return try runAgain(commands) }
    let begin = PostgresCommand("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    let rows = try runAgain([begin] + commands + [PostgresCommand("COMMIT")])
    return Array(rows[1...commands.count])
  }

  private func runAgain(_ commands: [PostgresCommand]) throws(StoreError) -> [PostgresRows] {
    let wasConnected = connection != nil
    do throws(PostgresError) {
      return try runOnce(commands)
    } catch {
      guard wasConnected, error.kind == .lost else { throw noted(error) }
    }
    do throws(PostgresError) {
      return try runOnce(commands)
    } catch {
      throw noted(error)
    }
  }

  private func noted(_ error: PostgresError) -> StoreError {
    let told = StoreError(error)
    if error.kind != .rejected, error.kind != .invalid { outage = told }
    return told
  }

  private func runOnce(_ commands: [PostgresCommand]) throws(PostgresError) -> [PostgresRows] {
    var open = try opened()
    // After an error the connection is dropped: a transaction may stand open on it.
    let rows = try open.run(commands)
    connection = consume open
    return rows
  }

  /// A connection to the server at which this relay's seat stands.
  ///
  /// It is looked for again whenever the seat has changed: whoever has it may have gone to another
  /// server. What is read was begun after that, so it shows all that was acknowledged before.
  private func opened() throws(PostgresError) -> ServerConnection {
    if var open = connection.take(), try isRight(&open, since: version) { return open }
    // A name may lead to another server the next time.
    for _ in 0...servers.address.hostCount {
      var made = try servers.connect(
        timeoutMs: limits.connectTimeoutMs, silenceMs: limits.silenceMs, isGivenUp: isGivenUp)
      if try isRight(&made, since: nil) { return made }
    }
    throw .isBehind(servers.address)
  }

  /// Whether the seat stands at a connection's server.
  ///
  /// - Parameter known: The version of the seat of which that is known; nil if of none.
  private func isRight(
    _ connection: inout ServerConnection, since known: Int?
  ) throws(PostgresError) -> Bool {
    let standing = servers.standing
    if standing.version == known { return true }
    guard try standing.isAt(&connection) else {
      servers.leave(connection.host)
      return false
    }
    version = standing.version
    host = connection.host
    return true
  }
}
#endif
