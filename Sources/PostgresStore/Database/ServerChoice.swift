#if PostgreSQL
import Postgres
import Synchronization

/// To which of the database's servers a relay goes; shared by all connections of one use of the
/// store.
///
/// A primary that stood still while its standby was promoted knows nothing of that once it goes on:
/// until somebody ends it, it says that it writes. Nobody confirms its commits any more, and what
/// it shows is old. So whoever has waited in vain for a server tries the others first; what is read
/// counts only where the seat stands by which this relay writes; and who writes goes along with
/// the beats.
final class ServerChoice: Sendable {
  private struct State {
    /// The place of the host that is tried first.
    var first = 0
    /// The place of the host that has confirmed the last beat, or the last taking of the seat.
    var confirmed: Int?
    var standing = Standing()
  }

  /// The seat by which this relay writes.
  struct Standing {
    /// Its incarnations; of the last one it may not be known yet whether the database has it.
    var incarnations: [Int64] = []
    /// Grows with each change.
    var version = 0
  }

  let address: PostgresAddress
  private let state = Mutex(State())
  private let commit = Atomic<Int64>(0)

  init(_ address: PostgresAddress) { self.address = address }

  /// Connects to a server that writes.
  func connect(
    timeoutMs: Int, silenceMs: Int, isGivenUp: () -> Bool = { false }
  ) throws(PostgresError) -> ServerConnection {
    let first = state.withLock { $0.first }
    let made = try PostgresConnection(
      to: address, beginningWith: first, connectTimeoutMs: timeoutMs, silenceMs: silenceMs,
      isGivenUp: isGivenUp)
    let host = made.host
    state.withLock { $0.first = host }
    return ServerConnection(made, among: self)
  }

  /// The SQLSTATE of a lock that was waited for in vain.
  static let lockTimeout = "55P03"

  /// Notes an error of a connection to a server, which may be a reason to try others first.
  ///
  /// Of a former primary's transactions none ends, and their locks stand for as long as it runs.
  func note(_ error: PostgresError, at host: Int) {
    if error.isOfSilence || error.sqlState == Self.lockTimeout { leave(host) }
  }

  /// Has others tried first from now on.
  func leave(_ host: Int) {
    state.withLock { if $0.first == host { $0.first = (host + 1) % address.hostCount } }
  }

  /// Notes that a server has confirmed a commit under this relay's seat.
  func confirm(_ host: Int) { state.withLock { ($0.first, $0.confirmed) = (host, host) } }

  /// Whether this relay's seat may be at another server than that one by now.
  func isElsewhere(than host: Int) -> Bool {
    state.withLock { $0.confirmed.map { $0 != host } ?? false }
  }

  /// The number of the last transaction of this relay's seat that a server has confirmed.
  ///
  /// A database that has the seat under a lower number has lost it.
  var confirmedCommit: Int64 {
    get { commit.load(ordering: .acquiring) }
    set { commit.store(newValue, ordering: .releasing) }
  }

  /// The seat by which this relay writes; none before it has the store.
  var standing: Standing { state.withLock { $0.standing } }

  /// Notes by which incarnations this relay writes.
  func stand(_ incarnations: [Int64]) {
    state.withLock { state in
      state.standing = Standing(
        incarnations: incarnations, version: state.standing.version + 1)
    }
  }
}

extension ServerChoice.Standing {
  /// Whether the seat stands at a connection's server; so for whoever needs none.
  func isAt(_ connection: inout ServerConnection) throws(PostgresError) -> Bool {
    guard !incarnations.isEmpty else { return true }
    let command = PostgresCommand(
      "SELECT EXISTS (SELECT 1 FROM seat WHERE incarnation = ANY($1))", [.int64s(incarnations)])
    return try connection.run([command])[0].bool(0, 0)
  }
}

extension PostgresError {
  /// A server that writes, and does not know what this relay has written.
  static func isBehind(_ address: PostgresAddress) -> PostgresError {
    PostgresError(
      kind: .unreachable, operation: "connect", subject: address.subject,
      detail: "the server that was reached does not know this relay's seat: it is behind another"
        + " one that took its place. If the database was put back to an older state, start the"
        + " relay again")
  }
}
#endif
