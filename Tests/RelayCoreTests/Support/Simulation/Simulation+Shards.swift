@testable import RelayCore
@testable import StoreModel

// In two of five runs the relay shares the clients with others: shards are taken from it and come
// back, one at a time. Others take what is posted meanwhile, and attempt nothing.
extension Simulation {
  static let shardCount = 4

  /// Whether it holds shards one by one.
  var isSharded: Bool { seed % 5 >= 3 }

  static func shard(of client: ClientNumber) -> Int { Int(client.rawValue) % shardCount }

  /// The shards that the relay holds.
  var heldShards: Set<Int> {
    isSharded ? Set(epochs.keys) : Set(0..<Self.shardCount)
  }

  func holds(_ client: ClientNumber) -> Bool {
    !isSharded || epochs[Self.shard(of: client)] != nil
  }

  mutating func moveShard() {
    guard !isFaultFree else { return }
    schedule(.shardMoves, inMs: Int64.random(in: 300...6000, using: &random))
    // A relay that hands a shard over lets its transactions end first.
    guard reserved.isEmpty, clearing.isEmpty else { return }
    // What was decided before is carried out before.
    carryOutActions()
    if let lacking = (0..<Self.shardCount).first(where: { epochs[$0] == nil }) {
      take(lacking)
    } else {
      release(Int.random(in: 0..<Self.shardCount, using: &random))
    }
    shardMoveCount += 1
  }

  /// Takes what it does not hold.
  mutating func takeShards() {
    guard isSharded else { return }
    for shard in 0..<Self.shardCount where epochs[shard] == nil { take(shard) }
  }

  private mutating func release(_ shard: Int) {
    epochs[shard] = nil
    scheduler.release(shard, now: clock)
    for lane in scheduler.lanes.values where Self.shard(of: lane.client) == shard {
      violate("a lane of client \(lane.client.rawValue) is in memory, whose shard was released")
    }
  }

  private mutating func take(_ shard: Int) {
    epochCount += 1
    epochs[shard] = epochCount
    // Where the one that failed has ended, nothing on the disk tells of the wait.
    backoffs = backoffs.filter { store.place(of: $0.value.serial) != nil }
    scheduler.take(ShardLease(shard: shard, epoch: epochCount))
    for client in store.clients.values.sorted() where Self.shard(of: client) == shard {
      scheduler.note(client, in: shard)
    }
    let entries = store.line.filter { Self.shard(of: $0.client) == shard }
    let read = chance(1, in: 3) ? Int.random(in: 0...entries.count, using: &random) : entries.count
    let latest = latestLanes(of: entries)
    scheduler.restore(
      LinePage(entries: Array(entries.prefix(read)), scannedThrough: 0, hasMore: false),
      latest: latest)
    scheduler.restore(counted: entries.dropFirst(read), latest: latest)
    scheduler.taken(shard, now: clock, wasClockSetBack: latestWall > clock.wall)
  }

  /// Something of a client is in line, which may be new.
  mutating func noteShard(of client: ClientNumber) {
    guard isSharded, holds(client) else { return }
    scheduler.note(client, in: Self.shard(of: client))
  }

  /// Whether the store refuses a change, since its shard has changed hands since it was asked for.
  func isRefused(_ transition: Transition) -> Bool {
    isSharded && epochs[Self.shard(of: client(of: transition.lane))] != transition.epoch
  }

  /// A relay begins nothing, and asks for nothing to be written, of a shard that it does not hold.
  mutating func checkLease(of serial: Serial, in lane: LaneNumber, epoch: Int64? = nil) {
    guard isSharded else { return }
    guard let held = epochs[Self.shard(of: client(of: lane))] else {
      return violate("\(serial) was acted on though its shard was released")
    }
    if let epoch, epoch != held { violate("\(serial) was to be changed under epoch \(epoch)") }
  }
}
