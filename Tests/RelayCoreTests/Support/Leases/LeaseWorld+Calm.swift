@testable import RelayCore

// What has to become of any state once nothing goes wrong any more.
extension LeaseWorld {
  /// Lets everything go well until a time, counted from now.
  mutating func calm(forMs durationMs: Int64) {
    let end = nowMs + durationMs
    for place in nodes.indices where nodes[place].isFrozen { take(.thaw(place)) }
    while !strays.isEmpty { take(.stray(0)) }
    settleDown()
    while let next = nextAlarmMs, next <= end {
      take(.timePasses)
      settleDown()
    }
    nowMs = end
  }

  /// Lets time pass and everybody who is not frozen talk with the database.
  mutating func passRounds(while isToGoOn: (Self) -> Bool) {
    while isToGoOn(self) {
      take(.timePasses)
      for place in nodes.indices where !nodes[place].isFrozen { take(.converse(place)) }
    }
  }

  private mutating func settleDown() {
    for _ in 0..<2 {
      for place in nodes.indices {
        for shard in nodes[place].attempts.sorted() { take(.end(place, shard)) }
        if !nodes[place].exchanges.isEmpty { take(.converse(place)) }
      }
    }
    strays = []
  }

  /// The time in which every clock goes on by so much.
  private func byTheSlowest(_ durationMs: Int64) -> Int64 {
    durationMs * 100 / (nodes.map(\.clockPercent).min() ?? 100) + 1
  }

  /// Whether somebody is there to lead shards.
  private var isAnybodyThere: Bool { nodes.contains { $0.book?.isDraining == false } }

  /// Whether a shard is led, or was handed over just now to somebody who will see it at the next
  /// reading.
  private func isLed(_ shard: Int) -> Bool {
    nodes.indices.contains { place in
      mayStart(place, shard)
        || nodes[place].book?.incarnation == tables.shards[shard].holder
          && nodes[place].book?.reading?.shards[shard] != tables.shards[shard]
    }
  }

  /// Expects that every shard is led soon, and that the shards come to rest where they should be.
  mutating func checkCalm() {
    calm(forMs: byTheSlowest(limits.ttlMs + 2 * limits.beatMs))
    guard isAnybodyThere else { return }
    for shard in 0..<limits.shardCount where !isLed(shard) {
      violated("nobody leads shard \(shard) in calm")
    }
    if nodes.contains(where: { $0.book?.isDraining == true }) {
      violated("a drain does not end in calm")
    }
    let rounds = Int64(limits.shardCount / limits.movesPerRoundMax + 2)
    calm(
      forMs: byTheSlowest(
        limits.stableMs + 2 * limits.beatMs + limits.moveRoundMs * rounds))
    let members = tables.seats.values.map {
      ShardPlacement.Member(incarnation: $0.incarnation, relay: $0.relay)
    }
    let placement = ShardPlacement(members: members, shardCount: limits.shardCount)
    if tables.shards.contains(where: { $0.holder != placement.holder(of: $0.shard) }) {
      violated("shards do not come to rest where they should be")
    }
    let before = tables.shards
    calm(forMs: limits.stableMs + 2 * limits.moveRoundMs)
    if tables.shards != before { violated("shards move although all are where they should be") }
  }
}
