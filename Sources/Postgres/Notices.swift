#if PostgreSQL
import CPostgres

/// What the server has said of a connection besides its answers.
///
/// The connection has its address, and so have the results (libpq copies it into each), so both
/// keep it.
final class Notices {
  /// Whether a commit was not confirmed by the standby, as it was no longer waited for.
  ///
  /// "The transaction has already committed locally, but might not have been replicated to the
  /// standby" (`SyncRepWaitForLSN` in the server's `syncrep.c`): a warning, and then the usual
  /// answer.
  var isUnconfirmed = false

  /// Has a connection's notices come here.
  ///
  /// The pointer is not counted as a reference. Sound since the connection's and the results'
  /// owners keep this object for longer than they use theirs.
  func listen(to connection: OpaquePointer) {
    PQsetNoticeReceiver(
      connection,
      { context, notice in
        guard let context else { return }
        Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().take(notice)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Notes the one notice that matters; all others are dropped.
  private func take(_ notice: OpaquePointer?) {
    // The function's name tells it from other warnings in every language. The text is for servers
    // that stand in for PostgreSQL, and have other functions.
    guard ServerMessage.field(waystation_pg_sqlstate, of: notice) == "01000" else { return }
    let function = ServerMessage.field(waystation_pg_function, of: notice)
    let text = ServerMessage.field(waystation_pg_message, of: notice) ?? ""
    if function == "SyncRepWaitForLSN" || text.contains("synchronous replication") {
      isUnconfirmed = true
    }
  }
}

/// Reading what the server says in errors and notices.
enum ServerMessage {
  /// A field of an error or a notice; nil if the server has not sent it.
  ///
  /// - Parameter code: One of those in the shim.
  static func field(_ code: some BinaryInteger, of result: OpaquePointer?) -> String? {
    PQresultErrorField(result, Int32(code)).map { String(cString: $0) }
  }
}
#endif
