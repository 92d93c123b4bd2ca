import EventLoop
import Foundation
import RelayCore
@testable import RelayServer
import SQLiteStore
import Synchronization
import Testing

@Suite("The janitor", .timeLimit(.minutes(1)))
struct JanitorTests {
  @Test("retention has a round again and again, each by the clock of its own time")
  func rounds() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try SQLiteStore.open(folder: folder.path, options: SQLiteStore.Options())
    let loop = try EventLoop(name: "test")
    let log = Log(LogConfiguration(), descriptor: -1)
    let dispatcher = Dispatcher(
      store: store, loop: loop, clock: Relay.readClocks, log: log, meter: RateMeter(),
      metrics: RelayMetrics(listeners: []), lanes: LaneRulesTable(),
      quotas: QuotaKeeper(QuotaRules(Configuration())))
    store.start(observer: dispatcher)
    let readings = Readings()
    let configuration = Configuration()
    let janitor = Janitor(
      dispatcher: dispatcher, retention: configuration.retention,
      eventsKeptSeconds: configuration.events.keptSeconds, loop: loop, clock: readings.read,
      log: log, retentionPeriodMs: 5)
    janitor.start()
    // A round reads it twice: for what has ended, and for events.
    await readings.reached(10)
    janitor.stop()
    #expect(readings.count >= 10)
    await store.close()
    loop.stop()
  }

  /// A clock that counts how often it is read.
  private final class Readings: Sendable {
    private struct State {
      var count = 0
      var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    @Sendable
    func read() -> Now {
      let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
        state.count += 1
        guard let waiter = state.waiter, state.count >= waiter.count else { return nil }
        defer { state.waiter = nil }
        return waiter.continuation
      }
      continuation?.resume()
      return Relay.readClocks()
    }

    var count: Int { state.withLock { $0.count } }

    func reached(_ count: Int) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.count < count { state.waiter = (count, continuation) }
          return state.count >= count
        }
        if isThere { continuation.resume() }
      }
    }
  }
}
