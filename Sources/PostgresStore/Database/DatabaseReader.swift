#if PostgreSQL
import Postgres
import RelayCore

/// A connection that reads; used by one thread.
final class DatabaseReader {
  /// Work for a thread that has a reader.
  typealias Job = @Sendable (DatabaseReader) -> Void

  private let address: PostgresAddress
  let limits: DatabaseLimits
  private let isGivenUp: () -> Bool
  private var connection: PostgresConnection?

  /// - Parameter isGivenUp: Says whether to give up a connection that is being made.
  init(
    at address: PostgresAddress, _ limits: DatabaseLimits,
    isGivenUp: @escaping () -> Bool = { false }
  ) {
    self.address = address
    self.limits = limits
    self.isGivenUp = isGivenUp
  }

  /// One that may take its time, to count everything at a start.
  static func forStart(at address: PostgresAddress) throws(StoreError) -> DatabaseReader {
    var limits = DatabaseLimits()
    limits.silenceMs = limits.startSilenceMs
    let reader = DatabaseReader(at: address, limits)
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
      guard wasConnected, error.kind == .lost else { throw StoreError(error) }
    }
    do throws(PostgresError) {
      return try runOnce(commands)
    } catch {
      throw StoreError(error)
    }
  }

  private func runOnce(_ commands: [PostgresCommand]) throws(PostgresError) -> [PostgresRows] {
    if connection == nil {
      connection = try PostgresConnection(
        to: address, connectTimeoutMs: limits.connectTimeoutMs, silenceMs: limits.silenceMs,
        isGivenUp: isGivenUp)
    }
    guard var open = connection.take() else { preconditionFailure("it has just been made") }
    // After an error the connection is dropped: a transaction may stand open on it.
    let rows = try open.run(commands)
    connection = consume open
    return rows
  }
}
#endif
