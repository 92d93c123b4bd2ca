#if PostgreSQL
import Postgres

extension PostgresConnection {
  /// Runs one statement that is written as a string.
  mutating func run(
    sql: String, _ values: [PostgresValue] = []
  ) throws(PostgresError) -> PostgresRows {
    try run([PostgresCommand(sql: sql, values)])[0]
  }

  /// The error of a pipeline; nil if it has none.
  mutating func failure(of commands: [PostgresCommand]) -> PostgresError? {
    do { _ = try run(commands) } catch { return error }
    return nil
  }

  /// The error of one statement.
  mutating func failure(of sql: String) -> PostgresError? {
    failure(of: [PostgresCommand(sql: sql)])
  }
}

/// The error of an attempt to connect; nil if it succeeds.
func failure(
  ofConnectingTo url: String, passwordFile: String? = nil, timeoutMs: Int = 20_000
) -> PostgresError? {
  do {
    let address = try PostgresAddress(
      url: url, passwordFile: passwordFile, applicationName: "test")
    _ = try PostgresConnection(to: address, connectTimeoutMs: timeoutMs, silenceMs: 20_000)
  } catch { return error }
  return nil
}
#endif
