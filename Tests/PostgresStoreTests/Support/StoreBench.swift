#if PostgreSQL
import Foundation
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Synchronization

/// Listens to a store, and lets everything happen.
final class QuietObserver: StoreObserver {
  private struct State {
    var accepted: [Serial] = []
    var lossCount = 0
    var beatWaiters: [@Sendable () -> Void] = []
    var waiter: (count: Int, resume: @Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let beats = AsyncStream.makeStream(of: Void.self)
  private let lapses = AsyncStream.makeStream(of: Void.self)
  private let losses = AsyncStream.makeStream(of: StoreError.self)

  /// Waits until the lease is held once more than was waited for so far.
  func beat() async { for await _ in beats.stream { return } }
  /// Waits until the lease is held once more from now on.
  func nextBeat() async {
    await withCheckedContinuation { continuation in
      state.withLock { $0.beatWaiters.append { continuation.resume() } }
    }
  }
  /// Waits until the lease has lapsed.
  func lapse() async { for await _ in lapses.stream { return } }
  /// Waits until the store is another relay's.
  func loss() async -> StoreError {
    for await error in losses.stream { return error }
    fatalError("nobody listens any more")
  }

  func leaseHeld() {
    let waiters = state.withLock { state in
      defer { state.beatWaiters = [] }
      return state.beatWaiters
    }
    for waiter in waiters { waiter() }
    beats.continuation.yield()
  }

  func leaseLapsed(_ reason: String?) { lapses.continuation.yield() }
  func leaseLost(_ error: StoreError) {
    state.withLock { $0.lossCount += 1 }
    losses.continuation.yield(error)
  }

  /// How often it was told that the store is another relay's.
  var lossCount: Int { state.withLock { $0.lossCount } }

  /// What was told to be accepted, in order.
  var accepted: [Serial] { state.withLock { $0.accepted } }

  /// Waits until so many have been accepted.
  func accepted(count: Int) async throws {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isThere = state.withLock { state in
        if state.accepted.count < count {
          state.waiter = (count, { continuation.resume() })
          return false
        }
        return true
      }
      if isThere { continuation.resume() }
    }
  }

  func committed(_ commit: Commit, answer: (CommitPositions) -> Void) {
    var positions = CommitPositions()
    for case .accepted(let envelopes) in commit.changes {
      let waiter = state.withLock { state in
        state.accepted += envelopes.map(\.entry.serial)
        guard let waiter = state.waiter, state.accepted.count >= waiter.count else {
          return nil as (@Sendable () -> Void)?
        }
        state.waiter = nil
        return waiter.resume
      }
      waiter?()
      positions.accepted = envelopes.map { _ in 1 }
    }
    answer(positions)
  }

  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool { true }
  func reserveAll(of client: ClientNumber) -> SparedEnvelopes { SparedEnvelopes() }
  func released(_ reservations: Reservations) {}
}

/// Stores on one database, by a proxy or without.
struct StoreBench {
  let database: TestDatabase

  init(in database: TestDatabase) { self.database = database }

  init() throws { self.init(in: try TestDatabase.fresh()) }

  /// Opens the store; whoever had it loses it.
  func open(
    port: UInt16? = nil, _ observer: QuietObserver = QuietObserver()
  ) throws -> PostgresStore {
    let store = try PostgresStore(at: try address(port: port), Self.options)
    store.start(observer: observer)
    return store
  }

  /// Where the database is, by a proxy or without.
  func address(port: UInt16? = nil) throws -> PostgresAddress {
    var url = database.url
    if let port, let own = Self.port(of: url) {
      url = url.replacingOccurrences(of: ":\(own)/", with: ":\(port)/")
    }
    return try PostgresAddress(url: url, applicationName: "waystation")
  }

  /// How it is opened.
  static var options: PostgresStore.Options {
    PostgresStore.Options {
      WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1000))
    }
  }

  /// The server's port.
  static func port(of url: String) -> UInt16? { URL(string: url)?.port.map { UInt16($0) } }

  /// The keys that the database has envelopes of.
  func storedKeys() throws -> [String] {
    var connection = try database.connect()
    let rows = try connection.run([PostgresCommand("SELECT key FROM envelope ORDER BY serial")])[0]
    return (0..<rows.count).map { rows.text($0, 0) }
  }

  /// A post with a key, in the client's only lane.
  static func draft(_ number: Int) -> EnvelopeDraft {
    var draft = EnvelopeDraft(
      client: "device-1", lane: "default", upstream: "default",
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(),
        body: .inline(Array("\(number)".utf8))),
      expiresAt: WallTime(millisecondsSinceEpoch: 4_000_000_000_000))
    draft.key = "key-\(number)"
    draft.fingerprint = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32)
    return draft
  }
}
#endif
