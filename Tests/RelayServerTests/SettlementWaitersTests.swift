import EventLoop
import RelayCore
@testable import RelayServer
import Testing

@Suite("Those who wait for what becomes of an envelope", .timeLimit(.minutes(5)))
struct SettlementWaitersTests {
  /// Far longer than a test may last: who is told of nothing fails by its time limit.
  private static let longMs: Int64 = 600_000

  private func wait(
    _ waiters: SettlementWaiters, for serial: Serial, _ happens: (SettlementWaiters) -> Void
  ) async throws -> Bool {
    let loop = try EventLoop(name: "test")
    let waiter = try #require(waiters.register(serial))
    defer { waiters.remove(waiter) }
    happens(waiters)
    let isSettled = await waiter.wait(on: loop, forMs: Self.longMs)
    loop.stop()
    return isSettled
  }

  @Test("who waits for one that was parked hears of it under its new number")
  func moved() async throws {
    let isSettled = try await wait(SettlementWaiters(), for: 1) { waiters in
      waiters.move(1, to: 7)
      waiters.move(7, to: 9)
      waiters.settle([9])
    }
    #expect(isSettled)
  }

  @Test("and so do those who waited for it under that number already")
  func movedToOthers() async throws {
    let waiters = SettlementWaiters()
    let loop = try EventLoop(name: "test")
    let both = try [1, 7].map { try #require(waiters.register($0)) }
    waiters.move(1, to: 7)
    waiters.settle([7])
    for waiter in both { #expect(await waiter.wait(on: loop, forMs: Self.longMs)) }
    loop.stop()
  }

  @Test("one who has gone after a move is forgotten")
  func goneAfterMove() async throws {
    let waiters = SettlementWaiters()
    let gone = try #require(waiters.register(1))
    waiters.move(1, to: 7)
    waiters.remove(gone)
    let isSettled = try await wait(waiters, for: 7) { $0.settle([7], as: .moot) }
    #expect(isSettled && gone.news == .made)
  }

  @Test("everybody is sent away at the end, and whoever comes later as well")
  func closed() async throws {
    let waiters = SettlementWaiters()
    let isSettled = try await wait(waiters, for: 1) { $0.close() }
    #expect(!isSettled && waiters.register(1) == nil)
  }
}
