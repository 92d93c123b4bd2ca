#if PostgreSQL
/// What went wrong between the relay and a database.
package struct PostgresError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of trouble, which says what is known of what was sent.
  package enum Kind: Sendable, Equatable {
    /// No connection could be made: the name, a refusal, a timeout, a server about to start or end.
    case unreachable
    /// The server was reached, and refused the relay: authentication, rights, no such database.
    case denied
    /// The connection ended, or was silent for too long.
    ///
    /// What was sent may have been carried out, or not.
    case lost
    /// The database answered with an error; nothing of the pipeline was carried out.
    case rejected
    /// Carried out by the server, but not confirmed by its standby: to be treated as ``lost``.
    case unconfirmed
    /// The configuration: a URL that cannot be read, a file that is not there, a server whose
    /// certificate does not fit, or that is too old.
    case invalid
  }

  /// The kind of trouble.
  package var kind: Kind
  /// The operation that failed, such as `connect`, or the first word of a statement.
  package var operation: String
  /// The hosts with their ports, and the database; never a password.
  package var subject: String
  /// The message of the server, the library or the system.
  package var detail: String
  /// The five characters of the server's error, of ``Kind/rejected`` and ``Kind/denied``.
  package var sqlState: String?
  /// Whether it is ``Kind/lost`` since nothing was heard for too long: the server may stand still,
  /// or be one whose commits nobody confirms any more.
  package var isOfSilence = false

  /// Describes the trouble.
  package init(
    kind: Kind, operation: String, subject: String, detail: String, sqlState: String? = nil
  ) {
    self.kind = kind
    self.operation = operation
    self.subject = subject
    self.detail = detail
    self.sqlState = sqlState
  }

  /// Whether a server that has answered with this code may answer otherwise by itself.
  ///
  /// So with a conflict with another transaction, a lock, an operator's hand, a start or an end; no
  /// room or no connection left; trouble of its machine; a server that only reads until it is
  /// promoted (<https://www.postgresql.org/docs/15/errcodes-appendix.html>).
  package static func mayPass(_ sqlState: String) -> Bool {
    ["08", "40", "53", "55", "57", "58", "XX"].contains(sqlState.prefix(2)) || sqlState == "25006"
  }

  /// One sentence for a log or a terminal.
  package var description: String {
    let state = sqlState.map { " (SQLSTATE \($0))" } ?? ""
    return "cannot \(operation) at \(subject): \(detail)\(state)"
  }
}
#endif
