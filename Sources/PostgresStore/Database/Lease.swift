#if PostgreSQL
import EventLoop
import Postgres
import RelayCore
import Synchronization

/// Until when this relay may attempt what it has stored; shared by all threads.
final class Lease: Sendable {
  private let proof: Mutex<LeaseProof>
  private let isEnding = Monitor(false)
  let limits: DatabaseLimits

  /// Begins with a seat that was taken at a time.
  init(takenAt time: MonotonicTime, _ limits: DatabaseLimits) {
    proof = Mutex(LeaseProof(at: time, limits.lease))
    self.limits = limits
  }

  /// The time since the machine was started: it goes on while the machine sleeps.
  static func now() -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).adding(milliseconds: WallClock.elapsedMs())
  }

  /// Whether nobody else can have the store yet.
  var isGood: Bool { Self.now() < proof.withLock { $0.end } }

  /// Notes that a beat has succeeded which was sent at a time.
  func prove(at time: MonotonicTime) { proof.withLock { $0.prove(at: time) } }

  /// Ends the beats.
  func end() { isEnding.update { $0 = true } }

  /// Waits for so long, or for less if the lease ends before; false once the beats are to end.
  func pause(milliseconds: Int64, isLapsed: Bool) -> Bool {
    let now = Self.now()
    let left = proof.withLock { $0.end }.milliseconds(since: now)
    let wait = isLapsed ? milliseconds : min(milliseconds, max(left, 0) + 1)
    let deadline = MonotonicClock.now().adding(milliseconds: wait)
    return isEnding.wait(until: deadline) { $0 ? true : nil } == nil
  }
}

/// Shows again and again that the process runs, by a connection of its own; says when it cannot.
///
/// Used by its thread alone.
final class LeaseKeeper {
  private let process: Int64
  private let lease: Lease
  private let address: PostgresAddress
  private let observer: any StoreObserver
  private var connection: PostgresConnection?
  private var isLapsed = false

  init(
    of process: Int64, _ lease: Lease, at address: PostgresAddress, _ observer: any StoreObserver
  ) {
    self.process = process
    self.lease = lease
    self.address = address
    self.observer = observer
  }

  /// Beats until the lease ends with the store.
  func run() {
    var nextBeat = Lease.now()
    repeat {
      if Lease.now() >= nextBeat {
        nextBeat = Lease.now().adding(milliseconds: lease.limits.lease.beatMs)
        beat()
      }
      if !lease.isGood, !isLapsed {
        isLapsed = true
        observer.leaseLapsed()
      }
    } while lease.pause(
      milliseconds: max(nextBeat.milliseconds(since: Lease.now()), 0), isLapsed: isLapsed)
  }

  private func beat() {
    let sentAt = Lease.now()
    do throws(PostgresError) {
      let rows = try run([
        PostgresCommand(
          "UPDATE seat SET beats = beats + 1 WHERE process = $1", [.int64(process)]),
        PostgresCommand("SELECT count(*) FROM seat WHERE process <> $1", [.int64(process)]),
      ])
      if rows[0].affectedCount > 0 {
        lease.prove(at: sentAt)
        isLapsed = false
        observer.leaseHeld()
      } else if rows[1].int64(0, 0) > 0 {
        observer.leaseLost(.leaseLost(to: address.subject))
      }
      // Else the seat is just being taken anew by a connection in place of a lost one.
    } catch {
      // The lease says how long that may last.
      connection = nil
    }
  }

  private func run(_ commands: [PostgresCommand]) throws(PostgresError) -> [PostgresRows] {
    if connection == nil {
      connection = try PostgresConnection(
        to: address, connectTimeoutMs: lease.limits.beatTimeoutMs,
        silenceMs: lease.limits.beatTimeoutMs)
    }
    guard var open = connection.take() else { preconditionFailure("it has just been made") }
    let rows = try open.run(commands)
    connection = consume open
    return rows
  }
}

extension StoreError {
  /// Another relay has the store.
  static func leaseLost(to subject: String) -> StoreError {
    StoreError(
      kind: .leaseLost, operation: "write to", subject: subject,
      detail: "another relay has taken the store, since this one could not show that it runs")
  }
}
#endif
