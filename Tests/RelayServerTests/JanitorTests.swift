import EventLoop
import Foundation
import RelayCore
@testable import RelayServer
import SQLiteStore
import Synchronization
import Testing

@Suite("The janitor", .timeLimit(.minutes(5)))
struct JanitorTests {
  @Test("retention has a round again and again, each by the clock of its own time")
  func rounds() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try SQLiteStore.open(folder: folder.path, options: SQLiteStore.Options())
    let loop = try EventLoop(name: "test")
    let log = Log(LogConfiguration(), descriptor: -1)
    let dispatcher = Dispatcher(
      store: store, loop: loop, clock: Clocks.read, log: log, meter: RateMeter(),
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

  @Test(
    "a deadline is looked at when it comes, and within a minute whatever the clock says",
    arguments: [(-5, 200), (0, 200), (1000, 1000), (60_000, 60_000), (86_400_000, 60_000)])
  func alarmTime(deadlineMs: Int64, expectedMs: Int64) {
    let now = Now(
      wall: WallTime(millisecondsSinceEpoch: 1_700_000_000_000),
      monotonic: MonotonicTime(nanoseconds: 7_000_000))
    let due = Janitor.alarmTime(of: now.wall.adding(milliseconds: deadlineMs), now: now)
    #expect(due.milliseconds(since: now.monotonic) == expectedMs)
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
      return Clocks.read()
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
