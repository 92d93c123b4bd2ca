#if PostgreSQL
import Postgres
import RelayCore

/// The right to write: a connection that writes under an incarnation of its own.
///
/// Each transaction begins with `fence`, which locks the seat's row and compares shards and epochs.
/// So nothing is written once somebody else has taken them. Used by one thread.
final class Seat {
  private let servers: ServerChoice
  private let identity: RelayIdentity
  private let limits: DatabaseLimits
  private var connection: ServerConnection?
  /// The place of the host that the connection is to, or the last one was.
  private var host: Int
  /// All incarnations that this seat has had: of the last one it may not be known whether the
  /// database has it.
  private var incarnations: [Int64] = []
  /// The number of the last transaction.
  private var number: Int64 = 0
  /// The epoch under which the shards are held.
  private(set) var epoch: Int64 = 0
  /// The number of this use of the store, which outlives incarnations: what it does is known by it.
  let process: Int64
  private var registry: RelayRegistry
  /// When it was asked for the store, which it then got.
  private(set) var takenAt = Lease.now()

  /// What its session had as `synchronous_commit` in the last transaction that was confirmed.
  private(set) var commitSetting: String?

  private var incarnation: Int64 { incarnations.last ?? 0 }
  /// Whether the database has refused, the last time that it was asked, what it was given (states
  /// of the classes 22, data exception, and 23, integrity constraint): it would refuse it again.
  private(set) var hasRefusedData = false
  /// Whether to give up connections that are being made.
  var isGivenUp: () -> Bool = { false }

  /// Connects, and makes the tables if there are none, or adds what they lack.
  ///
  /// - Parameter process: See ``process``.
  /// - Throws: ``PostgresError`` if the database cannot be reached, or refuses the relay.
  init(
    at servers: ServerChoice, _ identity: RelayIdentity, _ limits: DatabaseLimits,
    process: Int64 = Seat.newProcess()
  ) throws(PostgresError) {
    self.process = process
    self.servers = servers
    self.identity = identity
    registry = RelayRegistry(of: process, identity)
    self.limits = limits
    var connection = try Self.connect(to: servers, limits)
    host = connection.host
    try Self.prepare(&connection)
    self.connection = consume connection
  }

  /// A number for ``process`` that no other one has.
  static func newProcess() -> Int64 { Int64.random(in: 1...Int64.max) }

  /// Takes the store at once: whoever had it writes nothing from then on.
  ///
  /// - Throws: ``StoreError`` if the database cannot be reached, refuses the relay, or has tables
  ///   of a newer version.
  static func taken(
    at servers: ServerChoice, _ identity: RelayIdentity, _ limits: DatabaseLimits
  ) throws(StoreError) -> Seat {
    let refusal: StoreError
    do throws(PostgresError) {
      let seat = try Seat(at: servers, identity, limits)
      guard let obstacle = try seat.obstacle() else {
        _ = try seat.take(.fromAnybody)
        return seat
      }
      refusal = obstacle
    } catch {
      throw StoreError(error)
    }
    throw refusal
  }

  private var address: PostgresAddress { servers.address }

  /// Goes by these incarnations, and has the connections that read go along.
  private func stand(_ incarnations: [Int64]) {
    self.incarnations = incarnations
    servers.stand(incarnations)
  }

  // MARK: - Taking the store

  /// Why no relay is to use this store; nil if one can.
  func obstacle() throws(PostgresError) -> StoreError? {
    if let fault = try faultOfTables() { return fault }
    return try mark()?.refusal(to: "open", address.subject)
  }

  /// What the store says of a move; see ``DatabaseMoveMark``.
  func mark() throws(PostgresError) -> MoveMark? {
    guard try run([DatabaseMoveMark.isThere])[0].bool(0, 0) else { return nil }
    return DatabaseMoveMark.found(in: try run([DatabaseMoveMark.selection])[0])
  }

  /// Who has the store, for people; nil if nobody can be seen.
  func holder() throws(PostgresError) -> String? {
    let rows = try run([
      PostgresCommand(
        """
        SELECT application_name, coalesce(host(client_addr), 'this machine'), pid
        FROM seat JOIN pg_stat_activity
          ON pid = backend AND pg_stat_activity.backend_start = seat.backend_start LIMIT 1
        """)
    ])[0]
    guard rows.count == 1, !rows.isNull(0, 0) else { return nil }
    return "\(rows.text(0, 0)) at \(rows.text(0, 1)) (connection \(rows.int64(0, 2)))"
  }

  /// Whether what has the store has shown itself as of this version.
  func isHeld(byVersion version: String) throws(PostgresError) -> Bool {
    try run([
      PostgresCommand(
        "SELECT EXISTS (SELECT 1 FROM relay JOIN seat USING (process) WHERE version = $1)",
        [.text(version)])
    ])[0].bool(0, 0)
  }

  /// What is wrong with the tables; nil if this relay can use them.
  ///
  /// - Parameter isExact: Whether they have to be of the version that this program makes.
  func faultOfTables(isExact: Bool = false) throws(PostgresError) -> StoreError? {
    do throws(PostgresError) {
      return TablesFault.found(
        try run([.tableVersions])[0], of: address.subject, isExact: isExact)
    } catch {
      guard error.sqlState == Self.undefinedTable else { throw error }
      return TablesFault.missingVersion(of: address.subject)
    }
  }

  /// The seats that stand.
  func standing() throws(PostgresError) -> [StandingSeat] {
    PostgresCommand.seats(in: try run([.seats])[0])
  }

  /// Shows that this relay runs, every few times that it is called.
  ///
  /// A database that only reads cannot be told; it is none that a relay could use.
  func show() {
    let commands = registry.beat()
    if !commands.isEmpty { _ = try? run(commands) }
  }

  /// Takes the store; false if somebody else has it.
  func take(_ taking: SeatTaking) throws(PostgresError) -> Bool {
    let mine = Int64.random(in: 1...Int64.max)
    let commands = PostgresCommand.takeStore(
      for: mine, process: process, reachedAt: identity.address, taking)
    var rows: [PostgresRows]
    takenAt = Lease.now()
    do throws(PostgresError) {
      rows = try run(commands)
    } catch {
      guard error.sqlState == ServerChoice.lockTimeout else { throw error }
      // A seat stands in an open transaction of a process that does not go on.
      _ = try run([.endBackends(of: taking)])
      takenAt = Lease.now()
      rows = try run(commands)
    }
    guard let epoch = rows.last?.int64OrNil(0, 0) else { return false }
    self.epoch = epoch
    stand([mine])
    servers.confirm(host)
    return true
  }

  /// Gives the store up, so that the next one need not wait; as far as that can be done at once.
  func leave() {
    let mine = PostgresValue.int64s(incarnations)
    _ = try? run([
      PostgresCommand("DELETE FROM seat WHERE incarnation = ANY($1)", [mine]),
      PostgresCommand("SELECT keep_counts($1, $2)", [mine, .int64(epoch)]),
      PostgresCommand("DELETE FROM seat_commit WHERE incarnation = ANY($1)", [mine]),
      RelayRegistry.removal(of: process),
    ])
  }

  /// Whether other relays share the store that have not ended.
  func hasOthers() throws(PostgresError) -> Bool {
    !RelayRegistry.relays(in: try run([RelayRegistry.list])[0]).isEmpty
  }

  /// Ends a wait for the store.
  func stopWaiting() { _ = try? run([RelayRegistry.removal(of: process)]) }

  private func run(_ commands: [PostgresCommand]) throws(PostgresError) -> [PostgresRows] {
    guard var open = connection.take() else {
      throw PostgresError(
        kind: .lost, operation: "write to", subject: address.subject,
        detail: "it is not connected",
        sqlState: nil)
    }
    do throws(PostgresError) {
      let rows = try open.run(commands)
      connection = consume open
      return rows
    } catch {
      if error.kind == .rejected { connection = consume open }
      let state = error.sqlState ?? ""
      hasRefusedData = state.hasPrefix("22") || state.hasPrefix("23")
      throw error
    }
  }

  // MARK: - Transactions

  /// Is told, again and again, why the database cannot be reached; waits for so many milliseconds,
  /// and says whether to go on trying.
  typealias WhileLost = (_ error: StoreError, _ pauseMs: UInt32) -> Bool

  /// Asks for facts; nothing is written.
  ///
  /// - Parameter whileLost: See ``write(_:whileLost:)``.
  func read(
    _ commands: [PostgresCommand], whileLost: WhileLost = { _, _ in false }
  ) throws(StoreError) -> [PostgresRows] {
    goAlong()
    while true {
      do throws(PostgresError) {
        return try run(commands)
      } catch {
        guard error.kind != .rejected else { throw StoreError(error) }
        _ = try recover(from: error, whileLost)
      }
    }
  }

  /// Writes, and returns once the database has confirmed it.
  ///
  /// If the connection is lost, it is found out whether the transaction was committed; if not, it
  /// is written again.
  ///
  /// - Parameter counts: What there is once it is written; nil if nobody has counted.
  /// - Returns: One result for each command; nil if they were lost, and all is written.
  /// - Throws: ``StoreError`` if nothing was written, or, once it was to try no more, if nobody
  ///   knows: then of kind `outcomeUnknown`.
  func write(
    _ commands: [PostgresCommand], shards: Set<Int>, counts: KeptCounts?, whileLost: WhileLost
  ) throws(StoreError) -> [PostgresRows]? {
    goAlong()
    number += 1
    let held = shards.sorted()
    while true {
      let fence = PostgresCommand.fence(of: incarnation, held, epoch: epoch)
      let mark = PostgresCommand.mark(number, counts, of: incarnation)
      let isSent = connection != nil
      do throws(PostgresError) {
        let rows = try run([fence] + commands + [mark])
        if let marked = rows.last, marked.count == 1 { commitSetting = marked.text(0, 0) }
        servers.confirmedCommit = number
        return Array(rows.dropFirst().dropLast())
      } catch {
        guard error.kind != .rejected else { throw StoreError(error) }
        if try isCommitted(after: error, isSent: isSent, whileLost) {
          servers.confirmedCommit = number
          return nil
        }
      }
    }
  }

  /// Gives the connection up if the beats are at another server by now.
  private func goAlong() {
    if servers.isElsewhere(than: host) { connection = nil }
  }

  /// Whether the last transaction was committed.
  ///
  /// - Parameter isSent: Whether it can have been.
  private func isCommitted(
    after error: PostgresError, isSent: Bool, _ whileLost: WhileLost
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try recover(from: error, whileLost)
    } catch {
      var error = error
      if isSent, error.kind == .inputOutput { error.kind = .outcomeUnknown }
      throw error
    }
  }

  /// Connects anew, under another incarnation.
  ///
  /// Its own row is deleted first. That waits for a transaction that the old connection has left
  /// open, and lets no other one begin; so what is read then is what there will be.
  ///
  /// - Returns: Whether the last transaction was committed.
  private func recover(
    from error: PostgresError, _ whileLost: WhileLost
  ) throws(StoreError) -> Bool {
    var last = error
    var pauseMs: UInt32 = 0
    connection = nil
    while true {
      let pause = UInt32.random(in: pauseMs / 2...pauseMs)
      guard whileLost(StoreError(last), pause) else { throw StoreError(last) }
      pauseMs = min(max(2 * pauseMs, limits.reconnectMs.lowerBound), limits.reconnectMs.upperBound)
      do throws(PostgresError) {
        let made = try Self.connect(to: servers, limits, isGivenUp)
        host = made.host
        connection = consume made
        let isHeld = try reseat()
        guard let committed = isHeld else { throw .fencedOff(from: address, Self.isTaken) }
        guard committed >= servers.confirmedCommit else {
          throw .fencedOff(from: address, Self.isOlder)
        }
        return committed >= number
      } catch {
        if error.sqlState == PostgresError.fencedOff { throw StoreError(error) }
        connection = nil
        last = error
      }
    }
  }

  private static let isTaken = "another relay has taken this one's shards"
  /// Why a relay ends whose database has lost what it had confirmed.
  ///
  /// What the relay has in memory, its counts above all, is not what is stored then.
  static let isOlder =
    "the database lacks commits that it had confirmed to this relay: it was put back to an older"
    + " state, or a server without the latest commits took the place of the one that wrote."
    + " Started again, the relay goes on from what the database has"

  /// Takes the place of the former incarnations.
  ///
  /// - Returns: The number of the last transaction that was committed; nil if the shards are
  ///   another's.
  private func reseat() throws(PostgresError) -> Int64? {
    let former = incarnations
    let mine = Int64.random(in: 1...Int64.max)
    stand(former + [mine])
    let old = PostgresValue.int64s(former)
    let commands = [
      PostgresCommand("DELETE FROM seat WHERE incarnation = ANY($1)", [old]),
      PostgresCommand(
        """
        INSERT INTO seat_commit SELECT $2, number, counts FROM seat_commit
        WHERE incarnation = ANY($1) ORDER BY number DESC LIMIT 1
        """, [old, .int64(mine)]),
      PostgresCommand("DELETE FROM seat_commit WHERE incarnation = ANY($1)", [old]),
      // None for one whose seat another relay has deleted: it has ended.
      PostgresCommand(
        sql: """
          INSERT INTO seat (incarnation, backend, backend_start, process, address, whole_epoch)
          SELECT $1, pid, backend_start, $2, $3, $4 FROM pg_stat_activity
          WHERE pid = pg_backend_pid()
            AND EXISTS (SELECT 1 FROM seat_commit WHERE incarnation = $1)
          """, [.int64(mine), .int64(process), .text(identity.address), .int64(epoch)]),
      PostgresCommand(
        "UPDATE shard SET holder = $2 WHERE holder = ANY($1)", [old, .int64(mine)]),
      PostgresCommand("SELECT number FROM seat_commit WHERE incarnation = $1", [.int64(mine)]),
      PostgresCommand(
        "SELECT max(epoch), EXISTS (SELECT 1 FROM seat WHERE process = $1) FROM shard",
        [.int64(process)]),
    ]
    do throws(PostgresError) {
      return try found(run(commands))
    } catch {
      guard error.sqlState == ServerChoice.lockTimeout else { throw error }
      let seats = former.map { SeatBeats(incarnation: Incarnation(rawValue: $0), beats: 0) }
      _ = try run([.endBackends(of: .from(seats))])
      return try found(run(commands))
    }
  }

  private func found(_ rows: [PostgresRows]) throws(PostgresError) -> Int64? {
    guard rows[0].affectedCount > 0, rows[5].count > 0 else {
      // Who takes the store raises the epoch. A lower one is from before this seat was taken, and
      // a seat of this process that it has left is from before it was taken anew.
      let latest = rows[6].int64(0, 0)
      guard latest < epoch || latest == epoch && rows[6].bool(0, 1) else { return nil }
      servers.leave(host)
      throw .isBehind(address)
    }
    stand([incarnation])
    servers.confirm(host)
    return rows[5].int64(0, 0)
  }
}
#endif
