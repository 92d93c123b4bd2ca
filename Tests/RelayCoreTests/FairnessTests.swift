@testable import RelayCore
import Testing

@Suite("Fair turns")
struct FairnessTests {
  @Test("a client with 100,000 waiting does not hold up one with a single envelope")
  func longBacklog() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    relay.accept(count: 100_000, lane: 1, client: 1)
    let single = relay.accept(lane: 2, client: 2)
    relay.answer(1)
    #expect(relay.attempted == [1, single])
  }

  @Test("a client with a thousand lanes gets no more turns than one with a single lane")
  func manyLanes() {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    for lane in 1...1000 { relay.accept(lane: Int64(lane), client: 1) }
    relay.accept(count: 3, lane: 2000, client: 2)
    for _ in 0..<9 {
      for entry in relay.inFlight { relay.answer(entry.serial) }
      relay.commit()
    }
    #expect(relay.attempted.filter { $0 > 1000 } == [1001, 1002, 1003])
  }

  @Test("within a client, lanes take turns")
  func lanesTakeTurns() {
    var queue = FairQueue()
    let lanes = (1...3).map { LaneNumber(rawValue: $0) }
    for lane in lanes { queue.append(lane, of: ClientNumber(rawValue: 1)) }
    var order: [Int64] = []
    for _ in 0..<6 {
      guard let lane = queue.popFirst() else { break }
      order.append(lane.rawValue)
      queue.append(lane, of: ClientNumber(rawValue: 1))
    }
    #expect(order == [1, 2, 3, 1, 2, 3])
  }

  @Test("a lane stands in the queue at most once, and keeps its place when added again")
  func noDoubles() {
    var queue = FairQueue()
    for lane: Int64 in [1, 2, 1, 2, 1] {
      queue.append(LaneNumber(rawValue: lane), of: ClientNumber(rawValue: lane))
    }
    #expect(queue.count == 2)
    let order = (0..<3).map { _ in queue.popFirst()?.rawValue }
    #expect(order == [1, 2, nil] && queue.count == 0)
  }

  @Test("a lane that is put first is taken next")
  func prepending() {
    var queue = FairQueue()
    queue.append(LaneNumber(rawValue: 1), of: ClientNumber(rawValue: 1))
    queue.prepend(LaneNumber(rawValue: 2), of: ClientNumber(rawValue: 2))
    queue.prepend(LaneNumber(rawValue: 3), of: ClientNumber(rawValue: 1))
    let order = (0..<3).compactMap { _ in queue.popFirst()?.rawValue }
    #expect(order == [2, 3, 1])
  }

  @Test("a lane that is put before its client's others leaves them in their order")
  func prependingBeforeSeveral() {
    var queue = FairQueue()
    let client = ClientNumber(rawValue: 1)
    for lane: Int64 in 1...3 { queue.append(LaneNumber(rawValue: lane), of: client) }
    queue.prepend(LaneNumber(rawValue: 4), of: client)
    let order = (0..<4).compactMap { _ in queue.popFirst()?.rawValue }
    #expect(order == [4, 1, 2, 3])
  }
}
