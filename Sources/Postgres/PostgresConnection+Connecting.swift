#if PostgreSQL
import CPostgres
import Glibc

extension PostgresConnection {
  /// Tries the hosts in their order, beginning with one of them.
  ///
  /// libpq would do so itself, but waits for each one as long as the system does: hosts behind one
  /// that is down were never tried in time.
  ///
  /// - Returns: The connection, and its host's place.
  static func connect(
    to address: PostgresAddress, beginningWith first: Int, timeoutMs: Int, notices: Notices,
    isGivenUp: () -> Bool
  ) throws(PostgresError) -> (OpaquePointer, host: Int) {
    guard PQisthreadsafe() == 1 else {
      throw PostgresError(
        kind: .invalid, operation: "connect", subject: address.subject,
        detail: "this libpq was built for programs of one thread")
    }
    try address.requireFiles()
    let deadline = Deadline(inMs: timeoutMs)
    var failures: [PostgresError] = []
    let count = address.hosts.count
    for index in 0..<count {
      let part = deadline.remainingMs / (count - index)
      let place = (first + index) % count
      let host = address.hosts[place]
      do {
        let parameters = try address.parameters(for: host)
        let made = try connect(
          with: parameters, to: host.description, of: address, timeoutMs: part, notices: notices,
          isGivenUp: isGivenUp)
        return (made, place)
      } catch {
        failures.append(error)
      }
    }
    // What an operator can do something about is told first.
    let first =
      failures.first { $0.kind == .denied } ?? failures.first { $0.kind == .invalid }
      ?? failures.first
    throw PostgresError(
      kind: first?.kind ?? .unreachable, operation: "connect", subject: address.subject,
      detail: failures.map(\.detail).joined(separator: "; "), sqlState: first?.sqlState)
  }

  /// Connects to one host.
  private static func connect(
    with parameters: [String: String], to host: String, of address: PostgresAddress,
    timeoutMs: Int, notices: Notices, isGivenUp: () -> Bool
  ) throws(PostgresError) -> OpaquePointer {
    func failure(_ kind: PostgresError.Kind, _ detail: String, _ state: String? = nil)
      -> PostgresError
    {
      PostgresError(
        kind: kind, operation: "connect", subject: address.subject, detail: detail,
        sqlState: state)
    }
    guard let connection = start(with: parameters) else {
      throw failure(.unreachable, "there is no memory")
    }
    notices.listen(to: connection)
    // Only so does libpq tell the code of an error that a connection ends with.
    PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    let deadline = Deadline(inMs: timeoutMs)
    guard let isMade = complete(connection, by: deadline, isGivenUp: isGivenUp) else {
      PQfinish(connection)
      throw failure(
        .unreachable,
        isGivenUp()
          ? "\(host) is waited for no longer" : "\(host) did not answer within \(timeoutMs) ms")
    }
    guard isMade else {
      defer { PQfinish(connection) }
      let message = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
      let state = ServerMessage.state(in: message)
      let isDenied =
        state.map { !PostgresError.mayPass($0) } ?? (PQconnectionNeedsPassword(connection) == 1)
      let isMistake = state == nil && ServerMessage.isOfMistake(message)
      throw failure(
        isDenied ? .denied : isMistake ? .invalid : .unreachable, ServerMessage.line(message),
        isDenied ? state : nil)
    }
    let version = Int(PQserverVersion(connection))
    guard version >= serverVersionMin else {
      PQfinish(connection)
      throw failure(
        .invalid, "\(host) is PostgreSQL \(version / 10_000), and 15 or later is needed")
    }
    PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
    guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
      PQfinish(connection)
      throw failure(.unreachable, "\(host) has ended the connection at once")
    }
    return connection
  }

  /// Begins a connection.
  static func start(with parameters: [String: String]) -> OpaquePointer? {
    // libpq reads the texts before it returns, and copies what it keeps.
    var texts: [UnsafeMutablePointer<CChar>?] = []
    defer { for text in texts { free(text) } }
    var names: [UnsafePointer<CChar>?] = []
    var values: [UnsafePointer<CChar>?] = []
    for (name, value) in parameters {
      let copies = (strdup(name), strdup(value))
      texts += [copies.0, copies.1]
      names.append(copies.0.map { UnsafePointer($0) })
      values.append(copies.1.map { UnsafePointer($0) })
    }
    names.append(nil)
    values.append(nil)
    return PQconnectStartParams(names, values, 0)
  }

  /// Brings a connection that was begun to its end.
  ///
  /// - Returns: Whether it could be made; nil if that is not known in time.
  private static func complete(
    _ connection: OpaquePointer, by deadline: Deadline, isGivenUp: () -> Bool
  ) -> Bool? {
    // "Behave as if PQconnectPoll last returned PGRES_POLLING_WRITING" (libpq's documentation).
    var state =
      PQstatus(connection) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
    while state == PGRES_POLLING_WRITING || state == PGRES_POLLING_READING {
      let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
      // The socket is another one for each of a name's addresses.
      guard wait(for: PQsocket(connection), events: events, by: deadline, isGivenUp) else {
        return nil
      }
      state = PQconnectPoll(connection)
    }
    return state == PGRES_POLLING_OK
  }

  /// Waits until something happens to a socket; false if it is waited for no longer.
  private static func wait(
    for socket: Int32, events: Int32, by deadline: Deadline, _ isGivenUp: () -> Bool
  ) -> Bool {
    while deadline.remainingMs > 0, !isGivenUp() {
      let part = Deadline(inMs: min(deadline.remainingMs, givingUpMs))
      if part.wait(for: socket, events: events) != 0 { return true }
    }
    return false
  }

  /// After how long it is noticed that a connection is to be given up that is being made.
  private static let givingUpMs = 100
}

extension ServerMessage {
  /// A message of several lines as one, without where in the server's source it comes from, and
  /// without what libpq asks the reader on a line that it indents.
  static func line(_ message: String) -> String {
    message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") && !$0.hasPrefix("\t") }
      .map { $0.split { $0.isWhitespace }.joined(separator: " ") }.joined(separator: " ")
  }

  /// The code in the message of a connection that failed, as in `FATAL:  28P01: password …`.
  ///
  /// The last one, as there is one for each address of the host.
  static func state(in message: String) -> String? {
    let words = message.split { $0.isWhitespace }
    return words.last { word in
      word.utf8.count == 6 && word.last == ":"
        && word.dropLast().allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
        && word.contains(where: \.isNumber)
    }.map { String($0.dropLast()) }
  }
}
#endif
