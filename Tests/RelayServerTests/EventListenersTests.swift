import EventLoop
import RelayCore
import Testing

@testable import RelayServer

@Suite("Those who listen to events", .timeLimit(.minutes(5)))
struct EventListenersTests {
  private let loop: EventLoop
  private let listeners = EventListeners()

  init() throws { loop = try EventLoop(name: "events-test") }

  private func admitted(countMax: Int = 10) throws -> EventListener {
    guard case .admitted(let listener) = listeners.admit(.nobody(at: nil), limits(countMax)) else {
      throw Refused()
    }
    return listener
  }

  private func limits(_ total: Int) -> PlaceLimits {
    PlaceLimits(total: total, perClient: total, perSource: total, reserve: 0)
  }

  private struct Refused: Error {}

  @Test("a ring before the wait is not missed, and one before rearming does not count")
  func sticky() async throws {
    defer { loop.stop() }
    let listener = try admitted()
    listeners.ring()
    #expect(await listener.wait(on: loop, forMs: 60_000) == .rung)
    listener.rearm()
    #expect(await listener.wait(on: loop, forMs: 1) == .silence)
    async let news = listener.wait(on: loop, forMs: 60_000)
    listeners.ring()
    #expect(await news == .rung)
  }

  @Test("a snapshot begins where the engine is, and not where the log already goes")
  func appliedEnd() {
    defer { loop.stop() }
    listeners.begin(at: EventPosition(row: 7, index: 0))
    #expect(listeners.appliedEnd == EventPosition(row: 7, index: 0))
    var commit = Commit()
    listeners.committed(commit, at: Clocks.read())
    #expect(listeners.appliedEnd == EventPosition(row: 7, index: 0))
    commit.eventsEnd = EventPosition(row: 8, index: 0)
    listeners.committed(commit, at: Clocks.read())
    #expect(listeners.appliedEnd == EventPosition(row: 8, index: 0))
  }

  @Test("a wait whose time runs out before it begins ends all the same")
  func timedOutAtOnce() async throws {
    defer { loop.stop() }
    let listener = try admitted()
    // The timer fires on the loop's thread, now before the wait begins and now after.
    for _ in 0..<500 {
      try #require(await listener.wait(on: loop, forMs: 0) == .silence)
    }
  }

  @Test("there may be so many, and one that is let go makes room")
  func bounded() throws {
    defer { loop.stop() }
    var listener: EventListener? = try admitted(countMax: 1)
    #expect(throws: Refused.self) { try admitted(countMax: 1) }
    #expect(listener?.isOver == false)
    listener = nil
    _ = try admitted(countMax: 1)
  }

  @Test("closing sends everybody away, and takes nobody in")
  func closing() async throws {
    defer { loop.stop() }
    let listener = try admitted()
    async let news = listener.wait(on: loop, forMs: 60_000)
    listeners.close()
    #expect(await news == .over)
    #expect(listener.isOver)
    guard case .closed = listeners.admit(.nobody(at: nil), limits(10)) else { throw Refused() }
  }

  @Test("a task that is not wanted any more does not wait")
  func cancelled() async throws {
    defer { loop.stop() }
    let listener = try admitted()
    let task = Task { [loop] in await listener.wait(on: loop, forMs: 60_000) }
    task.cancel()
    #expect(await task.value == .over)
  }
}
