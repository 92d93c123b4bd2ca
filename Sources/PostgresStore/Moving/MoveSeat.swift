#if PostgreSQL
import EventLoop
import Glibc
import Postgres
import RelayCore

/// The seat by which a move has a database, so that no relay has it meanwhile; used by one thread.
final class MoveSeat {
  private let seat: Seat
  private let lease: Lease
  private let beating: Thread

  /// How long a relay that has died is waited for, in milliseconds: a little longer than the lease.
  private static let waitMs = LeaseLimits().ttlMs + 3000
  /// What operators see of it while it lasts.
  private static let identity = RelayIdentity(address: nil, version: "store move")
  /// How long the database may be silent, in milliseconds.
  private static let silenceMs = 300_000

  /// Takes the seat.
  ///
  /// - Throws: ``StoreError/Kind/inUse`` with who has it.
  init(at address: PostgresAddress) throws(StoreError) {
    var limits = DatabaseLimits()
    limits.silenceMs = Self.silenceMs
    let servers = ServerChoice(address)
    let reading = try DurabilityReading(
      DatabaseReader(at: servers, DatabaseLimits()), asksForStandbys: true)
    if let standstill = reading.standstill {
      throw StoreError(
        kind: .other, operation: "write to", subject: address.subject, detail: standstill)
    }
    let seat = try Self.taken(at: servers, limits)
    let lease = Lease(takenAt: seat.takenAt, DatabaseLimits())
    let keeper = LeaseKeeper(of: seat, Self.identity, lease, at: servers)
    beating = try PostgresStore.spawn("store-lease") { keeper.run() }
    (self.seat, self.lease) = (seat, lease)
    // Whoever moves has time, and nothing is deleted meanwhile by which somebody could be stopped.
    _ = try read([PostgresCommand("SELECT set_config('statement_timeout', '0', false)")])
  }

  deinit { leave() }

  /// Gives the store up, so that a relay need not wait.
  func leave() {
    guard !isLeft else { return }
    isLeft = true
    lease.end()
    beating.join()
    seat.leave()
  }

  private var isLeft = false

  private static func taken(
    at servers: ServerChoice, _ limits: DatabaseLimits
  ) throws(StoreError) -> Seat {
    let address = servers.address
    let deadline = MonotonicClock.now().adding(milliseconds: waitMs)
    var last: StoreWait?
    var seen: [SeatBeats] = []
    var wait = SeatWait(
      at: servers, identity, limits, tell: { last = $0 },
      isOver: { milliseconds in
        usleep(UInt32(milliseconds) * 1000)
        return MonotonicClock.now() >= deadline
      },
      obstacle: { seat throws(PostgresError) in
        if let fault = try seat.faultOfTables(isExact: true) { return fault }
        let standing = try seat.standing().map(\.beats)
        defer { seen = standing }
        // One that beats is alive, and will not give way.
        let isAlive = standing.contains { now in
          seen.contains { $0.incarnation == now.incarnation && $0.beats != now.beats }
        }
        return isAlive ? try Self.inUse(address, seat) : nil
      })
    if let seat = try wait.seat() { return seat }
    if case .unreachable(let error) = last { throw error }
    throw StoreError(
      kind: .inUse, operation: "open", subject: address.subject,
      detail: "a relay has it, and it cannot be seen which. Stop that one first, and its spares.")
  }

  /// A relay has the store, or another move.
  private static func inUse(
    _ address: PostgresAddress, _ seat: Seat
  ) throws(PostgresError) -> StoreError {
    let holder = try seat.holder() ?? "it cannot be seen which"
    let detail =
      try seat.isHeld(byVersion: identity.version)
      ? "another 'waystation store move' has it: \(holder). Let that one end, or stop it."
      : "a relay has it: \(holder). Stop that one first, and its spares."
    return StoreError(
      kind: .inUse, operation: "open", subject: address.subject, detail: detail)
  }

  /// Asks.
  func read(_ commands: [PostgresCommand]) throws(StoreError) -> [PostgresRows] {
    try seat.read(commands)
  }

  /// Writes in one transaction, unless somebody else has taken the store.
  ///
  /// - Parameter isDurable: Whether the commit is to be waited for as the database is set up. What
  ///   is written before one that is, is durable with it.
  func write(_ commands: [PostgresCommand], isDurable: Bool = true) throws(StoreError) {
    let loose = PostgresCommand("SELECT set_config('synchronous_commit', 'off', true)")
    _ = try seat.write((isDurable ? [] : [loose]) + commands, shards: [], counts: nil) { _, _ in
      false
    }
  }

  /// What the store says of a move.
  func mark() throws(StoreError) -> MoveMark? {
    do throws(PostgresError) {
      return try seat.mark()
    } catch {
      throw StoreError(error)
    }
  }
}
#endif
