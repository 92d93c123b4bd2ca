#if PostgreSQL
import EventLoop
import Postgres
import RelayCore
import Synchronization

/// Until when this relay may attempt what it has stored; shared by all threads.
final class Lease: Sendable {
  private let proof: Mutex<LeaseProof>
  /// Why the last beat did not succeed; nil if it did.
  private let failure = Mutex<String?>(nil)
  /// Why another relay has the store, or is to have it; nil as long as nothing says so.
  private let loss = Mutex<StoreError?>(nil)
  private let course = Monitor(Course())
  private let sharing = Mutex<[SharingRelay]>([])
  let limits: DatabaseLimits

  /// What its holder is up to.
  private struct Course: Sendable {
    /// Whether the store is about to be given up.
    var isLeaving = false
    /// Whether that is still to be shown.
    var isToBeShown = false
    var isEnding = false
  }

  /// Why a pause between two beats is over.
  enum PauseEnd {
    case timePassed
    /// Something is to be shown at once.
    case isToBeShown
    /// There are no more beats.
    case ended
  }

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

  /// Why nothing may be attempted now; nil if it may.
  var trouble: String? {
    isGood ? nil : failure.withLock { $0 } ?? "the database has not answered for too long"
  }

  /// Notes that a beat has succeeded which was sent at a time.
  func prove(at time: MonotonicTime) {
    proof.withLock { $0.prove(at: time) }
    failure.withLock { $0 = nil }
  }

  /// The relays that share the store, as they were seen with one of the last beats.
  var relays: [SharingRelay] { sharing.withLock { $0 } }

  /// Notes the relays that share the store.
  func note(_ relays: [SharingRelay]) { sharing.withLock { $0 = relays } }

  /// Notes why a beat has not succeeded.
  func note(failure reason: String) { failure.withLock { $0 = reason } }

  /// Why the lease is lost for good; nil if it is not known to be.
  var lost: StoreError? { loss.withLock { $0 } }

  /// Notes that the lease is lost for good.
  func lose(_ error: StoreError) { loss.withLock { $0 = error } }

  /// Whether the store is about to be given up.
  var isLeaving: Bool { course.access { $0.isLeaving } }

  /// The next beat, at once, shows that the store is about to be given up.
  func announceEnd() {
    course.update { course in
      course.isToBeShown = !course.isLeaving
      course.isLeaving = true
    }
  }

  /// Ends the beats.
  func end() { course.update { $0.isEnding = true } }

  /// Waits for so long, or for less if the lease ends before or there is something to show.
  func pause(milliseconds: Int64, isLapsed: Bool) -> PauseEnd {
    let now = Self.now()
    let left = proof.withLock { $0.end }.milliseconds(since: now)
    let wait = isLapsed ? milliseconds : min(milliseconds, max(left, 0) + 1)
    let deadline = MonotonicClock.now().adding(milliseconds: wait)
    let end = course.wait(until: deadline) { course -> PauseEnd? in
      if course.isEnding { return .ended }
      defer { course.isToBeShown = false }
      return course.isToBeShown ? .isToBeShown : nil
    }
    return end ?? .timePassed
  }
}

/// Shows again and again that the process runs, by a connection of its own; says when it cannot.
///
/// Its thread runs it; any other one may name the observer.
final class LeaseKeeper: Sendable {
  private struct State: Sendable {
    var observer: (any StoreObserver)?
    var isLapsed = false
    var afterBeat: (@Sendable (_ isAnew: Bool) -> Void)?
    var registry: RelayRegistry
  }

  /// The connection of the beats.
  private struct Line: ~Copyable {
    var connection: ServerConnection?
    /// The place of the host that the last one was to.
    var host = 0
    /// Since when the server has not known the seat; nil if it knows it.
    var behindSince: MonotonicTime?
  }

  private let process: Int64
  private let epoch: Int64
  private let lease: Lease
  private let servers: ServerChoice
  private let state: Mutex<State>

  init(of seat: Seat, _ identity: RelayIdentity, _ lease: Lease, at servers: ServerChoice) {
    (process, epoch) = (seat.process, seat.epoch)
    self.lease = lease
    self.servers = servers
    state = Mutex(State(registry: RelayRegistry(of: process, identity)))
  }

  /// Has an observer told of what comes from now on, and of a lapse that stands.
  func tell(_ observer: any StoreObserver) {
    let isLapsed = state.withLock { state in
      state.observer = observer
      return state.isLapsed
    }
    if isLapsed { observer.leaseLapsed(lease.trouble) }
  }

  /// Has something done after each beat from now on; it must not wait.
  ///
  /// - Parameter body: Is told whether the beat has connected anew, perhaps to another server.
  func afterBeat(_ body: @escaping @Sendable (_ isAnew: Bool) -> Void) {
    state.withLock { $0.afterBeat = body }
  }

  /// Beats until the lease ends with the store.
  func run() {
    var line = Line()
    var nextBeat = Lease.now()
    while true {
      if Lease.now() >= nextBeat {
        nextBeat = Lease.now().adding(milliseconds: lease.limits.lease.beatMs)
        let wasConnected = line.connection != nil
        beat(&line)
        state.withLock { $0.afterBeat }?(!wasConnected && line.connection != nil)
      }
      if !lease.isGood { lapse() }
      let pauseMs = max(nextBeat.milliseconds(since: Lease.now()), 0)
      switch lease.pause(milliseconds: pauseMs, isLapsed: state.withLock { $0.isLapsed }) {
      case .timePassed: break
      case .isToBeShown: nextBeat = Lease.now()
      case .ended: return
      }
    }
  }

  private func lapse() {
    let observer = state.withLock { state -> (any StoreObserver)? in
      defer { state.isLapsed = true }
      return state.isLapsed ? nil : state.observer
    }
    observer?.leaseLapsed(lease.trouble)
  }

  private func beat(_ line: inout Line) {
    let sentAt = Lease.now()
    let showing = state.withLock { $0.registry.beat() }
    let incarnations = PostgresValue.int64s(servers.standing.incarnations)
    let confirmed = servers.confirmedCommit
    do throws(PostgresError) {
      let rows = try run(
        [
          PostgresCommand(
            """
            UPDATE seat SET beats = beats + 1, draining = $3
            WHERE process = $1 AND incarnation = ANY($2)
            """, [.int64(process), incarnations, .bool(lease.isLeaving)]),
          // A server that is behind may still show the seat of one that had the store before.
          PostgresCommand("SELECT count(*) FROM shard WHERE epoch > $1", [.int64(epoch)]),
          PostgresCommand(
            "SELECT count(*) FROM seat_commit WHERE incarnation = ANY($1) AND number < $2",
            [incarnations, .int64(confirmed)]),
        ] + showing + [RelayRegistry.list], on: &line)
      lease.note(RelayRegistry.relays(in: rows[rows.count - 1]))
      if rows[2].int64(0, 0) > 0 {
        lose(StoreError(PostgresError.fencedOff(from: servers.address, Seat.isOlder)))
      } else if rows[0].affectedCount > 0 {
        lease.prove(at: sentAt)
        servers.confirm(line.host)
        line.behindSince = nil
        let observer = state.withLock { state in
          state.isLapsed = false
          return state.observer
        }
        observer?.leaseHeld()
      } else if rows[1].int64(0, 0) > 0 {
        lose(.leaseLost(to: servers.address.subject))
      } else {
        noteBehind(&line)
      }
    } catch {
      // The lease says how long that may last.
      line.connection = nil
      lease.note(failure: error.description)
    }
  }

  /// The seat is just being taken anew by a connection in place of a lost one, or this server is
  /// behind another one, or its database was put back to an older state.
  ///
  /// If there is no other server, and the first would have come to an end by now, it is the last.
  private func noteBehind(_ line: inout Line) {
    line.connection = nil
    servers.leave(line.host)
    let now = Lease.now()
    let since = line.behindSince ?? now
    line.behindSince = since
    guard servers.address.hostCount == 1,
      now.milliseconds(since: since) >= lease.limits.lease.behindMs
    else { return }
    lose(StoreError(PostgresError.fencedOff(from: servers.address, Seat.isOlder)))
  }

  /// Nobody listens yet while the store is being opened: that looks at the lease.
  private func lose(_ error: StoreError) {
    lease.lose(error)
    state.withLock { $0.observer }?.leaseLost(error)
  }

  private func run(
    _ commands: [PostgresCommand], on line: inout Line
  ) throws(PostgresError) -> [PostgresRows] {
    if line.connection == nil {
      line.connection = try servers.connect(
        timeoutMs: lease.limits.beatTimeoutMs, silenceMs: lease.limits.beatTimeoutMs)
    }
    guard var open = line.connection.take() else { preconditionFailure("it has just been made") }
    line.host = open.host
    let rows = try open.run(commands)
    line.connection = consume open
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
