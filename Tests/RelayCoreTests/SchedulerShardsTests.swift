@testable import RelayCore
import Testing

@Suite("Taking shards over and letting go of them")
struct SchedulerShardsTests {
  /// A relay that holds no shard yet.
  private func relay(
    concurrency: Int = 4, ambiguity: AmbiguityPolicy = .retry,
    limits: Scheduler.Limits = Scheduler.Limits()
  ) -> ManualRelay {
    var policy = UpstreamPolicy.manual.concurrency(concurrency)
    policy.ambiguity = ambiguity
    var relay = ManualRelay()
    relay.scheduler = Scheduler(
      shardsOf: [ManualRelay.upstream: policy], limits: limits, seed: 1, now: relay.clock)
    return relay
  }

  @Test("a released shard is attempted no more, and what is in flight ends unrecorded")
  func release() {
    var relay = relay(concurrency: 2)
    relay.take(0, epoch: 3, clients: [2, 4])
    relay.take(1, epoch: 5, clients: [1])
    relay.accept(count: 3, lane: 2)
    relay.accept(count: 2, lane: 1)
    relay.accept(count: 1, lane: 4)
    relay.release(0)
    #expect(relay.attempted == [1, 4] && relay.scheduler.inFlightCount == 2)
    #expect(relay.waiting == 2 && relay.scheduler.windowEntries == 2)
    #expect(relay.scheduler.lanes.count == 1 && relay.scheduler.waitingByUpstream.values.max() == 2)
    relay.answer(1)
    #expect(relay.uncommitted.isEmpty && relay.scheduler.inFlightCount == 1)
    relay.answer(4)
    #expect(relay.uncommitted.map(\.epoch) == [5])
    relay.commit()
    #expect(relay.attempted == [1, 4, 5])
    relay.accept(count: 1, lane: 2)
    #expect(relay.waiting == 1 && relay.attempted == [1, 4, 5])
  }

  @Test("a slot that a released shard has waited for goes to the others")
  func slots() {
    var relay = relay(concurrency: 1, ambiguity: .verify)
    relay.take(0, epoch: 1, clients: [2])
    relay.take(1, epoch: 1, clients: [1])
    relay.accept(count: 1, lane: 2)
    relay.accept(count: 1, lane: 1)
    let announced = relay.uncommitted
    #expect(announced.map(\.serial) == [1])
    relay.release(0)
    #expect(relay.uncommitted.map(\.serial) == [1, 2])
    relay.commit()
    #expect(relay.attempted == [2] && relay.scheduler.inFlightCount == 1)
  }

  @Test("a shard that is taken goes on from the line, once its earlier attempts have ended")
  func takeAgain() {
    var relay = relay()
    relay.take(0, epoch: 1, clients: [2])
    relay.accept(count: 3, lane: 2)
    relay.release(0)
    relay.take(0, epoch: 2, clients: [2])
    #expect(relay.attempted == [1] && relay.waiting == 3)
    relay.answer(1)
    #expect(relay.uncommitted.isEmpty && relay.attempted == [1, 1])
    relay.answer(1)
    #expect(relay.uncommitted.map(\.epoch) == [2])
    relay.commit()
    relay.deliverAll()
    #expect(relay.attempted == [1, 1, 2, 3] && relay.scheduler.lanes.isEmpty)
    #expect(relay.scheduler.windowEntries == 0 && relay.waiting == 0)
  }

  @Test("the newest of a lane waits as well until an attempt has ended that was let go")
  func takeAgainNewestFirst() {
    var relay = relay()
    relay.latest = [LaneNumber(rawValue: 2)]
    relay.take(0, epoch: 1, clients: [2])
    relay.accept(count: 2, lane: 2)
    relay.release(0)
    relay.accept(count: 1, lane: 2)
    relay.take(0, epoch: 2, clients: [2])
    #expect(relay.attempted == [1])
    relay.answer(1)
    #expect(relay.attempted == [1, 3])
  }

  @Test("what was asked for under an earlier epoch changes nothing any more")
  func earlierEpoch() {
    var relay = relay()
    relay.take(0, epoch: 1, clients: [2])
    relay.accept(count: 3, lane: 2)
    relay.answer(1)
    let end = relay.uncommitted[0]
    let cancel = SteeringCommand.cancel(reason: "x")
    let third = relay.line[2]
    #expect(relay.scheduler.obey(cancel, of: third, now: relay.clock) == .recording)
    #expect(relay.scheduler.obey(cancel, of: third, now: relay.clock) == .busy)
    relay.take()
    relay.release(0)
    #expect(relay.scheduler.obey(cancel, of: third, now: relay.clock) == .gone)
    relay.take(0, epoch: 2, clients: [2])
    #expect(relay.attempted == [1, 1])
    relay.scheduler.recorded(end, now: relay.clock)
    relay.scheduler.unwritten(end, now: relay.clock)
    #expect(relay.waiting == 3 && relay.scheduler.isInFlight(1))
    #expect(relay.scheduler.obey(cancel, of: third, now: relay.clock) == .recording)
  }

  @Test("a shard whose backlog is larger than memory is counted, and comes and goes as a whole")
  func backlog() {
    let limits = Scheduler.Limits(windowEntriesMax: 10, laneWindowMin: 2)
    var relay = relay(concurrency: 1, limits: limits)
    for number in 0..<60 { relay.line.append(relay.makeEntry(lane: 1 + Int64(number % 3))) }
    relay.take(0, epoch: 1, clients: [1, 3], shown: 20)
    #expect(relay.waiting == 40 && relay.scheduler.waitingByUpstream.values.max() == 40)
    relay.take(1, epoch: 1, clients: [2], shown: 0)
    #expect(relay.waiting == 60)
    relay.release(0)
    #expect(relay.waiting == 20 && relay.scheduler.waitingByUpstream.values.max() == 20)
    relay.take(0, epoch: 2, clients: [1, 3], shown: 3)
    relay.deliverAll()
    #expect(relay.waiting == 0 && relay.scheduler.lanes.isEmpty)
    for (lane, serials) in Dictionary(grouping: relay.attempted, by: { ($0 - 1) % 3 }) {
      #expect(serials == serials.sorted(), "lane \(lane)")
    }
    #expect(Set(relay.attempted).count == 60 && relay.attempted.count <= 61)
  }
}

extension ManualRelay {
  /// Takes a shard over, with what waits of its clients.
  ///
  /// - Parameter shown: How many of its entries are read; the rest is counted.
  fileprivate mutating func take(
    _ shard: Int, epoch: Int64, clients: Set<Int64>, shown: Int = .max
  ) {
    scheduler.take(ShardLease(shard: shard, epoch: epoch))
    for client in clients { scheduler.note(ClientNumber(rawValue: client), in: shard) }
    let entries = line.filter { clients.contains($0.client.rawValue) }
    let page = Array(entries.prefix(shown))
    scheduler.restore(
      LinePage(
        entries: page, scannedThrough: page.last?.serial ?? 0, hasMore: page.count < entries.count),
      latest: latest)
    scheduler.restore(counted: entries.dropFirst(page.count), latest: latest)
    scheduler.taken(shard, now: clock)
    take()
  }

  fileprivate mutating func release(_ shard: Int) {
    scheduler.release(shard, now: clock)
    take()
  }
}
