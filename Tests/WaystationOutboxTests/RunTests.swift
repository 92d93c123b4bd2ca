import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Runs and their reports, as Wendy has them", .timeLimit(.minutes(5)))
struct RunTests {
  @Test("a run of a collection reports what was delivered, and nothing of other tags")
  func collection() async throws {
    let stand = try await Stand { settings in
      settings.collections["friends"] = ["friend.accept", "friend.remove"]
    }
    let accept = try await stand.outbox.enqueue(
      Request("POST", "/accept"), Options(lane: "a", tag: "friend.accept"))
    let other = try await stand.outbox.enqueue(
      Request("POST", "/other"), Options(lane: "b", tag: "else", hold: true))
    let report = await stand.outbox.run(.collection("friends"), within: .seconds(60))
    #expect(report.isAllDelivered || report.delivered == [accept])
    #expect(!report.skipped.map(\.0).contains(other))
    await stand.outbox.close()
  }

  @Test("the first failure is told, and what stands behind it is skipped")
  func failure() async throws {
    // Nothing goes before the run.
    let stand = try await Stand { $0.sending.linger = .seconds(3600) }
    stand.relay.refuse("/bad")
    let bad = try await stand.outbox.enqueue(Request("POST", "/bad"))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"))
    let report = await stand.outbox.run(within: .seconds(60))
    #expect(report.firstFailure?.0 == bad)
    #expect(report.skipped.map(\.0) == [behind])
    #expect(report.skipped.map(\.1) == [.laneBlocked])
    #expect(!report.isAllDelivered)
    await stand.outbox.close()
  }

  @Test("a run is whole up to the most items that one takes", arguments: [0, 1])
  func most(more: Int) async throws {
    let stand = try await Stand()
    stand.relay.cut()
    let count = CoreLimits.runItemsMax + more
    try await stand.outbox.enqueue(
      (0..<count).map { _ in (Request("POST", "/"), Options(hold: true)) })
    let report = await stand.outbox.run()
    #expect(report.isComplete == (more == 0))
    #expect(report.skipped.count == CoreLimits.runItemsMax)
    await stand.outbox.close()
  }

  @Test("without a connection nothing is pending: all are skipped as unreachable")
  func unreachable() async throws {
    let stand = try await Stand()
    stand.relay.cut()
    let first = try await stand.outbox.enqueue(Request("POST", "/1"))
    let second = try await stand.outbox.enqueue(Request("POST", "/2"))
    let report = await stand.outbox.run()
    #expect(report.skipped.map(\.0) == [first, second])
    #expect(Set(report.skipped.map(\.1)) == [.unreachable])
    await stand.outbox.close()
  }

  @Test("what is not decided in time is pending, and goes on by itself")
  func pending() async throws {
    let stand = try await Stand()
    stand.relay.isUpstreamAway = true
    let id = try await stand.outbox.enqueue(Request("POST", "/slow"))
    let report = await stand.outbox.run(within: .milliseconds(300))
    #expect(report.pending == [id])
    stand.relay.isUpstreamAway = false
    #expect(try await stand.ending(of: id).word == "delivered")
    await stand.outbox.close()
  }

  @Test("an item that had ended is skipped as ended, and one before its time as such")
  func skips() async throws {
    let stand = try await Stand()
    let over = try await stand.outbox.enqueue(Request("POST", "/over"))
    _ = try await stand.ending(of: over)
    let early = try await stand.outbox.enqueue(
      Request("POST", "/early"), Options(lane: "b", notBefore: .seconds(3600)))
    let report = await stand.outbox.run(.ids([over, early]))
    #expect(report.skipped.map(\.1) == [.ended, .notBefore])
    await stand.outbox.close()
  }

  @Test("an item that is not ready is passed over, and asked again when the outbox is woken")
  func readiness() async throws {
    let gate = Gate()
    let stand = try await Stand { $0.readiness = gate }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    let report = await stand.outbox.run()
    #expect(report.skipped.map(\.1) == [.notReady])
    gate.open()
    await stand.outbox.wake()
    #expect(try await stand.ending(of: id).word == "delivered")
    await stand.outbox.close()
  }

  @Test("a wake that comes while the app is being asked is not lost to what it said before")
  func wokenMeanwhile() async throws {
    let readiness = Asked()
    let stand = try await Stand { $0.readiness = readiness }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    for await _ in readiness.asked { break }
    await stand.outbox.wake()
    readiness.answer()
    #expect(try await stand.ending(of: id).word == "delivered")
    await stand.outbox.close()
  }

  @Test("an item that is edited while the app is being asked of it is asked of once more")
  func editedMeanwhile() async throws {
    let readiness = Asked()
    let stand = try await Stand { $0.readiness = readiness }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    for await _ in readiness.asked { break }
    try await stand.outbox.edit(id, Change(request: Request("POST", "/edited")))
    readiness.answer()
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(stand.paths == ["/edited"])
    await stand.outbox.close()
  }

  @Test("time in the background begins before the work, and is given back on every path")
  func budget() async throws {
    let stand = try await Stand()
    try await stand.outbox.enqueue(Request("POST", "/a"))
    let budget = CountedBudget()
    #expect(await stand.outbox.runInBackground(budget).isAllDelivered)
    #expect(budget.counts == [1, 1])
    stand.relay.isUpstreamAway = true
    let id = try await stand.outbox.enqueue(Request("POST", "/b"))
    let short = CountedBudget(expiresAtOnce: true)
    #expect(await stand.outbox.runInBackground(short).pending == [id])
    #expect(short.counts == [1, 1])
    await stand.outbox.close()
  }
}

/// Ready once a test says so.
private final class Gate: Readiness {
  private let isOpen = Atomic(false)
  func open() { isOpen.store(true, ordering: .releasing) }
  func isReady(_ item: Item) async -> Ready {
    isOpen.load(ordering: .acquiring) ? .now : .skip(retryAfter: nil)
  }
}

/// Not ready when it is asked first, which it says once a test lets it; ready from then on.
private final class Asked: Readiness {
  let asked: AsyncStream<Void>
  private let tell: AsyncStream<Void>.Continuation
  private let goOn: AsyncStream<Void>.Continuation
  private let answers: AsyncStream<Void>
  private let isFirst = Atomic(true)

  init() {
    (asked, tell) = AsyncStream.makeStream()
    (answers, goOn) = AsyncStream.makeStream()
  }

  func answer() { goOn.yield() }

  func isReady(_ item: Item) async -> Ready {
    guard isFirst.exchange(false, ordering: .acquiringAndReleasing) else { return .now }
    tell.yield()
    for await _ in answers { break }
    return .skip(retryAfter: nil)
  }
}

/// Counts what was begun and ended.
private final class CountedBudget: Budget {
  private let state = Mutex((begun: 0, ended: 0))
  private let expiresAtOnce: Bool

  init(expiresAtOnce: Bool = false) { self.expiresAtOnce = expiresAtOnce }

  var counts: [Int] { state.withLock { [$0.begun, $0.ended] } }

  func begin(
    _ reason: String, expired: @escaping @Sendable () -> Void
  ) async -> any BudgetToken {
    state.withLock { $0.begun += 1 }
    if expiresAtOnce { expired() }
    return Token(budget: self)
  }

  private struct Token: BudgetToken {
    let budget: CountedBudget
    func end() { budget.state.withLock { $0.ended += 1 } }
  }
}
