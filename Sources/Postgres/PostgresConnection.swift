#if PostgreSQL
import CPostgres
import Glibc

/// A connection to a database, used by one thread at a time.
///
/// It blocks its thread, never for longer than the limits that it is made with. Nothing is ever
/// cancelled: a commit that is cancelled while it waits for a standby is done, and not safe. A
/// connection that is given up has its socket closed instead.
package struct PostgresConnection: ~Copyable {
  /// libpq's own handle; nil once the connection has been given up.
  var handle: OpaquePointer?
  /// What the server says besides its answers.
  let notices = Notices()
  /// What the server has prepared.
  var statements = StatementCache()
  /// For how long nothing may be heard while something is awaited.
  let silenceMs: Int

  /// The hosts with their ports, and the database, for messages.
  package let subject: String
  /// The server's version, such as 150018 for 15.18.
  package let serverVersion: Int
  /// The number of the server's process that serves this connection.
  package let backend: Int32
  /// The place of its host among the address's.
  package let host: Int

  /// The oldest server that will do.
  static let serverVersionMin = 150_000

  /// Connects, to the first of the address's hosts that will have it, beginning with any of them.
  ///
  /// The time for the look-up of a host's name is the system's own, and not limited by this.
  ///
  /// - Parameters:
  ///   - first: The place of the host that is tried first; those behind it follow, and then those
  ///     before it.
  ///   - connectTimeoutMs: For how long it tries. Each host that is left gets an equal part.
  ///   - silenceMs: After how long without a byte of an answer the connection counts as lost.
  ///   - isGivenUp: Is asked, several times a second, whether to try no longer.
  /// - Throws: ``PostgresError/Kind/unreachable``, ``PostgresError/Kind/denied`` or
  ///   ``PostgresError/Kind/invalid``.
  package init(
    to address: PostgresAddress, beginningWith first: Int = 0, connectTimeoutMs: Int,
    silenceMs: Int, isGivenUp: () -> Bool = { false }
  ) throws(PostgresError) {
    let (made, host) = try Self.connect(
      to: address, beginningWith: first, timeoutMs: connectTimeoutMs, notices: notices,
      isGivenUp: isGivenUp)
    self.host = host
    self.silenceMs = silenceMs
    subject = address.subject
    serverVersion = Int(PQserverVersion(made))
    backend = PQbackendPID(made)
    handle = made
  }

  deinit { PQfinish(handle) }

  /// Whether it can be used; not after ``PostgresError/Kind/lost``.
  package var isUsable: Bool { handle != nil && PQstatus(handle) == CONNECTION_OK }

  /// Runs several statements without values, as one transaction, such as a migration's.
  ///
  /// Nothing but what the relay itself brings along is passed here.
  ///
  /// - Throws: ``PostgresError/Kind/lost``, ``PostgresError/Kind/rejected`` or
  ///   ``PostgresError/Kind/unconfirmed``.
  package mutating func execute(script: String) throws(PostgresError) {
    let connection = try usableHandle(for: "execute")
    if script.utf8.contains(0) { throw zeroCharacter(in: "execute") }
    notices.isUnconfirmed = false
    guard PQexitPipelineMode(connection) == 1, PQsendQuery(connection, script) == 1 else {
      throw lose(during: "execute")
    }
    try flush("execute")
    var failure: PostgresError?
    while let result = try nextResult("execute") {
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: break
      case PGRES_FATAL_ERROR: failure = failure ?? rejection(result, operation: "execute")
      default: throw lose(during: "execute", "a script copies no data")
      }
    }
    guard isUsable, PQenterPipelineMode(connection) == 1 else {
      throw lose(during: "execute", failure?.detail)
    }
    try conclude("execute", failure)
  }

  /// Throws what a run has met, once all its answers are there.
  func conclude(_ operation: String, _ failure: PostgresError?) throws(PostgresError) {
    if let failure { throw failure }
    if notices.isUnconfirmed {
      throw PostgresError(
        kind: .unconfirmed, operation: operation, subject: subject,
        detail: "the wait for the standby was cancelled; only this server has it")
    }
  }
}

/// Waiting for the server.
extension PostgresConnection {
  /// The handle of a connection that has not been given up.
  func usableHandle(for operation: String) throws(PostgresError) -> OpaquePointer {
    guard let handle else {
      throw PostgresError(
        kind: .lost, operation: operation, subject: subject,
        detail: "the connection has been given up before; nothing was sent")
    }
    return handle
  }

  /// Writes all that libpq has put together, and takes in what comes meanwhile.
  ///
  /// A server whose answers are not read stops reading, so whoever only wrote would wait for ever.
  mutating func flush(_ operation: String) throws(PostgresError) {
    while true {
      switch PQflush(handle) {
      case 0: return
      case 1: try wait(operation, events: POLLIN | POLLOUT)
      default: throw lose(during: operation)
      }
    }
  }

  /// The next result; nil where libpq sets one command's results apart from the next one's.
  mutating func nextResult(_ operation: String) throws(PostgresError) -> OpaquePointer? {
    while PQisBusy(handle) == 1 { try wait(operation, events: POLLIN) }
    return PQgetResult(handle)
  }

  /// Waits until there is something to read or to write, and takes in what there is to read.
  private mutating func wait(_ operation: String, events: Int32) throws(PostgresError) {
    // libpq has closed the socket if it is negative, and `poll` would wait for it all the same.
    let socket = PQsocket(handle)
    guard socket >= 0 else { throw lose(during: operation) }
    let happened = Deadline(inMs: silenceMs).wait(for: socket, events: events)
    guard happened != 0 else {
      var error = lose(during: operation, "nothing was heard of the server for \(silenceMs) ms")
      error.isOfSilence = true
      throw error
    }
    guard happened & ~POLLOUT != 0 else { return }
    // OpenSSL may keep the rest of what came: then the socket has nothing any more, and only
    // another look shows it. A record is at most twice what libpq reads at once.
    for _ in 0..<(PQsslInUse(handle) == 1 ? 2 : 1) where PQconsumeInput(handle) == 0 {
      throw lose(during: operation)
    }
  }

  /// Gives the connection up.
  ///
  /// Nothing more is written on it, not even what libpq says in parting: the server finds the
  /// stream's end, and undoes a pipeline of which it has not got the last word.
  ///
  /// - Parameter detail: What happened; nil for what libpq says.
  mutating func lose(during operation: String, _ detail: String? = nil) -> PostgresError {
    let text = detail ?? PQerrorMessage(handle).map { ServerMessage.line(String(cString: $0)) }
    shutdown(PQsocket(handle), Int32(SHUT_RDWR))
    PQfinish(handle)
    handle = nil
    return PostgresError(
      kind: .lost, operation: operation, subject: subject,
      detail: text.flatMap { $0.isEmpty ? nil : $0 } ?? "the connection has ended")
  }

  /// The error that a result is.
  func rejection(_ result: OpaquePointer, operation: String) -> PostgresError {
    PostgresError(
      kind: .rejected, operation: operation, subject: subject,
      detail: ServerMessage.field(waystation_pg_message, of: result)
        ?? PQresultErrorMessage(result).map { ServerMessage.line(String(cString: $0)) } ?? "",
      sqlState: ServerMessage.field(waystation_pg_sqlstate, of: result))
  }

  /// The error of a text that has a character 0, as the server would give it.
  func zeroCharacter(in operation: String) -> PostgresError {
    PostgresError(
      kind: .rejected, operation: operation, subject: subject,
      detail: "a text has a character 0, which PostgreSQL cannot keep; nothing was sent",
      sqlState: "22021")
  }
}
#endif
