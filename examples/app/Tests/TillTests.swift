import ExampleApp
import Foundation
import Synchronization
import Testing
import WaystationOutbox
import WaystationOutboxTesting

@Suite("The example of an app", .timeLimit(.minutes(1)))
@MainActor
struct TillTests {
  /// The office, behind a relay in memory, and the till's folder.
  private final class Stand: Sendable {
    let relay = ScriptedRelay()
    let loads = Atomic(0)
    private let folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    @MainActor func till() async throws -> Till {
      var settings = Settings(
        folder: folder, destination: .relay(base: "http://relay", client: "till-7"),
        transport: relay)
      settings.sending.backoff = .milliseconds(5) ... .milliseconds(20)
      return try await Till.open(settings) { [self] in
        loads.wrappingAdd(1, ordering: .relaxed)
        return ["tea": relay.delivered.count]
      }
    }

    /// The train goes into a tunnel.
    func enterTunnel() { relay.cut() }

    /// It comes out, and the app notices.
    @MainActor func leaveTunnel(_ till: Till) async {
      relay.mend()
      await till.wake()
    }
  }

  /// Waits until the badge shows this.
  private func badge(
    of till: Till, waiting: Int, needsAttention: Int = 0
  ) async -> Badge {
    let isMeant: @Sendable (Badge) -> Bool = { badge in
      badge.waiting == waiting && badge.needsAttention == needsAttention
    }
    if isMeant(till.badge) { return till.badge }
    return await till.badges.first(where: isMeant) ?? till.badge
  }

  @Test("a sale in a tunnel is kept, and reported once the train is out")
  func tunnel() async throws {
    let stand = Stand()
    let till = try await stand.till()
    #expect(try await till.sell(Sale(number: 1, article: "tea", cents: 250)) == .reported)
    stand.enterTunnel()
    #expect(try await till.sell(Sale(number: 2, article: "tea", cents: 250)) == .kept)
    // Somebody has pressed the button twice.
    #expect(try await till.sell(Sale(number: 2, article: "tea", cents: 250)) == .kept)
    #expect(await badge(of: till, waiting: 1).waiting == 1)
    await stand.leaveTunnel(till)
    #expect(await badge(of: till, waiting: 0).waiting == 0)
    #expect(stand.relay.delivered.map(\.key) == ["sale-1", "sale-2"])
    await till.close()
  }

  @Test("the stock is asked for only once the office has what was sold and counted here")
  func refresh() async throws {
    let stand = Stand()
    let till = try await stand.till()
    stand.enterTunnel()
    _ = try await till.sell(Sale(number: 1, article: "tea", cents: 250))
    try await till.count(ShelfCount(article: "tea", pieces: 9))
    try await till.count(ShelfCount(article: "tea", pieces: 8))
    #expect(try await !till.refresh())
    await stand.leaveTunnel(till)
    // The count waits for a shift still.
    #expect(try await !till.refresh())
    #expect(stand.loads.load(ordering: .relaxed) == 0 && till.stock.isEmpty)
    await till.signIn("early")
    #expect(try await till.refresh())
    // The sale and the later count were there before the question.
    #expect(till.stock == ["tea": 2])
    await till.close()
  }

  @Test("a count waits for a shift, over an end of the app, and goes under the one that is there")
  func shift() async throws {
    let stand = Stand()
    let first = try await stand.till()
    try await first.count(ShelfCount(article: "tea", pieces: 9))
    #expect(try await !first.refresh())
    await first.close()
    let second = try await stand.till()
    #expect(second.badge.waiting == 1)
    await second.signIn("late")
    #expect(await badge(of: second, waiting: 0).waiting == 0)
    #expect(stand.relay.delivered.map(\.path) == ["/shifts/late/stock/tea"])
    #expect(stand.relay.delivered.map(\.body) == [Array("9".utf8)])
    await second.close()
  }

  @Test("a sale that the office refuses is shown, stops those behind it, and goes corrected")
  func refused() async throws {
    let stand = Stand()
    let till = try await stand.till()
    stand.relay.refuse("/sales", body: "the price is not right")
    guard case .refused = try await till.sell(Sale(number: 1, article: "tea", cents: 2))
    else {
      Issue.record("it was taken")
      return
    }
    _ = await badge(of: till, waiting: 1, needsAttention: 1)
    let id = try #require(till.refused.keys.first)
    #expect(till.refused.count == 1)
    stand.relay.take("/sales")
    #expect(try await till.sell(Sale(number: 2, article: "soup", cents: 600)) == .kept)
    #expect(stand.relay.delivered.isEmpty)
    try await till.correct(id, Sale(number: 1, article: "tea", cents: 250))
    #expect(await badge(of: till, waiting: 0) == Badge())
    #expect(till.refused.isEmpty)
    let bodies = stand.relay.delivered.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(
      bodies == [
        #"{"article":"tea","cents":250,"number":1}"#,
        #"{"article":"soup","cents":600,"number":2}"#,
      ])
    await till.close()
  }

  @Test("a refused sale is known to the app's next life, and is seen no more once it is given up")
  func discarded() async throws {
    let stand = Stand()
    stand.relay.refuse("/sales")
    let first = try await stand.till()
    _ = try await first.sell(Sale(number: 1, article: "tea", cents: 2))
    _ = await badge(of: first, waiting: 1, needsAttention: 1)
    await first.close()
    let second = try await stand.till()
    #expect(second.badge.needsAttention == 1 && second.refused.count == 1)
    try await second.discard(#require(second.refused.keys.first), "the guest has left")
    #expect(await badge(of: second, waiting: 0) == Badge())
    await second.close()
  }
}
