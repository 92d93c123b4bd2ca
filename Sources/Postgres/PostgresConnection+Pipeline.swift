#if PostgreSQL
import CPostgres

/// Running commands as one pipeline
/// (<https://www.postgresql.org/docs/15/libpq-pipeline-mode.html>).
extension PostgresConnection {
  /// What one result of a pipeline belongs to, in their order.
  private enum Step {
    /// The server forgets its statements.
    case forget
    /// The server prepares a statement for the first command that has it.
    case prepare(StatementCache.Key, name: String, command: Int)
    /// A command is run.
    case run(Int)
  }

  /// The bytes from which on what was put together is written before more is.
  private static let flushedBytes = 64 << 10

  /// The most bytes of a command: the server takes no message of 1 GB, and no such value.
  static let commandBytesMax = 1_073_000_000

  /// Sends all commands with one end, so that they are one transaction, and returns one result for
  /// each.
  ///
  /// It takes one round trip. The connection can be used again after an error of the database.
  ///
  /// - Throws: ``PostgresError/Kind/lost``, ``PostgresError/Kind/rejected`` or
  ///   ``PostgresError/Kind/unconfirmed``.
  package mutating func run(
    _ commands: [PostgresCommand]
  ) throws(PostgresError) -> [PostgresRows] {
    guard let first = commands.first else { return [] }
    _ = try usableHandle(for: first.verb)
    for command in commands { try check(command) }
    notices.isUnconfirmed = false
    let steps = try send(commands)
    guard PQpipelineSync(handle) == 1 else { throw lose(during: first.verb) }
    try flush(first.verb)
    return try collect(steps, of: commands)
  }

  /// Refuses what the server would refuse, before anything is sent.
  private func check(_ command: PostgresCommand) throws(PostgresError) {
    guard !command.sql.utf8.contains(0), !command.values.contains(where: \.hasZeroCharacter) else {
      throw zeroCharacter(in: command.verb)
    }
    let count = command.values.reduce(command.sql.utf8.count) { $0 + $1.byteCountMax }
    guard count <= Self.commandBytesMax else {
      throw PostgresError(
        kind: .rejected, operation: command.verb, subject: subject,
        detail: "its values have \(count) bytes, and \(Self.commandBytesMax) are the most; "
          + "nothing was sent", sqlState: "54000")
    }
  }

  /// Sends the commands, and says which results will come.
  private mutating func send(_ commands: [PostgresCommand]) throws(PostgresError) -> [Step] {
    var steps: [Step] = []
    var names: [StatementCache.Key: String] = [:]
    var unsent = 0
    if statements.isFull {
      statements.removeAll()
      steps.append(.forget)
      guard PQsendQueryParams(handle, "DEALLOCATE ALL", 0, nil, nil, nil, nil, 1) == 1 else {
        throw lose(during: "deallocate")
      }
    }
    for (index, command) in commands.enumerated() {
      let key = StatementCache.Key(command)
      let name: String
      if let known = statements.name(of: key) ?? names[key] {
        name = known
      } else {
        name = statements.newName()
        names[key] = name
        steps.append(.prepare(key, name: name, command: index))
        let count = Int32(key.types.count)
        guard PQsendPrepare(handle, name, command.sql, count, key.types) == 1 else {
          throw lose(during: command.verb)
        }
        unsent += command.sql.utf8.count
      }
      let values = EncodedValues(command.values)
      guard bind(values, to: name) else { throw lose(during: command.verb) }
      steps.append(.run(index))
      unsent += values.bytes.count
      if unsent >= Self.flushedBytes {
        try flush(command.verb)
        unsent = 0
      }
    }
    return steps
  }

  /// Has a prepared statement run with these values.
  ///
  /// The addresses are valid until libpq returns, and it has copied the bytes by then.
  private func bind(_ values: EncodedValues, to name: String) -> Bool {
    values.bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { bytes in
        let starts = values.places.map { place in
          place.flatMap { range in bytes.baseAddress.map { $0 + range.lowerBound } }
        }
        let lengths = values.places.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: lengths.count)
        return PQsendQueryPrepared(
          handle, name, Int32(lengths.count), starts, lengths, formats, 1) == 1
      }
    }
  }

  /// Takes in the results up to the end of the pipeline.
  private mutating func collect(
    _ steps: [Step], of commands: [PostgresCommand]
  ) throws(PostgresError) -> [PostgresRows] {
    var rows: [PostgresRows] = []
    rows.reserveCapacity(commands.count)
    var failure: PostgresError?
    var position = 0
    while true {
      let operation = Self.verb(of: position, in: steps, of: commands)
      guard let result = try nextAnswer(operation, failure) else { break }
      let status = PQresultStatus(result)
      let step = position < steps.count ? steps[position] : nil
      position += 1
      switch (status, step) {
      case (PGRES_COMMAND_OK, .run), (PGRES_TUPLES_OK, .run), (PGRES_EMPTY_QUERY, .run):
        rows.append(PostgresRows(result, notices: notices))
        continue
      case (PGRES_COMMAND_OK, .prepare(let key, let name, _)): statements.add(key, name: name)
      case (PGRES_COMMAND_OK, .forget), (PGRES_PIPELINE_ABORTED, _): break
      case (PGRES_FATAL_ERROR, _):
        let error = rejection(result, operation: operation)
        forget(step, of: commands, after: error)
        failure = failure ?? error
      default:
        PQclear(result)
        throw lose(during: operation, "an answer that the relay cannot read")
      }
      PQclear(result)
    }
    try conclude(commands[0].verb, failure)
    return rows
  }

  /// The next answer of a pipeline; nil at its end.
  private mutating func nextAnswer(
    _ operation: String, _ failure: PostgresError?
  ) throws(PostgresError) -> OpaquePointer? {
    // Each command's result is set apart from the next one's by a nil. More of them in a row mean
    // that nothing more comes, and a bad status that nothing more can.
    for _ in 0..<3 {
      let result: OpaquePointer?
      do { result = try nextResult(operation) } catch {
        throw Self.explained(error, by: failure)
      }
      guard PQstatus(handle) == CONNECTION_OK else {
        PQclear(result)
        throw Self.explained(lose(during: operation), by: failure)
      }
      guard let result else { continue }
      guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else { return result }
      PQclear(result)
      return nil
    }
    throw lose(during: operation, "the pipeline's end is missing")
  }

  /// The end of a connection, with what the server had said before, such as that it is shut down.
  private static func explained(
    _ error: PostgresError, by failure: PostgresError?
  ) -> PostgresError {
    guard let failure else { return error }
    var error = error
    error.detail = failure.detail + ": " + error.detail
    return error
  }

  /// Forgets a statement that the server will not run again as it was prepared.
  ///
  /// That is so after a change of a table ("cached plan must not change result type"), and where
  /// something else has made the server forget it.
  private mutating func forget(
    _ step: Step?, of commands: [PostgresCommand], after error: PostgresError
  ) {
    guard case .run(let index) = step else { return }
    if error.sqlState == "0A000" || error.sqlState == "26000" {
      statements.remove(StatementCache.Key(commands[index]))
    }
  }

  private static func verb(
    of position: Int, in steps: [Step], of commands: [PostgresCommand]
  ) -> String {
    guard position < steps.count else { return "commit" }
    switch steps[position] {
    case .forget: return "deallocate"
    case .prepare(_, _, let index), .run(let index): return commands[index].verb
    }
  }
}
#endif
