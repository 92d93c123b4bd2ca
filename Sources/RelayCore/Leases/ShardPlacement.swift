/// The seat that each shard should be held by, as every relay finds out by itself: rendezvous
/// hashing with bounded loads.
///
/// Each shard goes to the seat with the highest score, by a hash of both; one that has its share
/// already is passed over (Thaler and Ravishankar, "Using name-based mappings to increase hit
/// rates", 1998; Mirrokni and others, "Consistent hashing with bounded loads", 2018). The same
/// seats give the same placement on every machine and in every release: see the tests.
package struct ShardPlacement: Hashable, Sendable {
  /// A seat that can hold shards.
  package struct Member: Hashable, Sendable {
    /// The seat.
    package var incarnation: Incarnation
    /// The name of its relay.
    package var relay: String

    /// Names a seat and its relay.
    package init(incarnation: Incarnation, relay: String) {
      self.incarnation = incarnation
      self.relay = relay
    }
  }

  /// The most shards of a seat, in hundredths of the mean.
  private static let loadPercentMax = 105

  private let holders: [Incarnation]

  /// Places all shards; nothing is placed without members.
  ///
  /// The relay's name decides, so that one that starts anew gets the shards that it had. Seats of
  /// the same name are told apart by their rank among each other.
  package init(members: [Member], shardCount: Int = Shard.count) {
    guard !members.isEmpty else {
      holders = []
      return
    }
    let members = members.sorted { $0.incarnation.rawValue < $1.incarnation.rawValue }
    var ranks: [String: UInt64] = [:]
    let seeds = members.map { member in
      ranks[member.relay, default: 0] += 1
      return Self.seed(of: member.relay, rank: ranks[member.relay, default: 0])
    }
    let mean = (shardCount + members.count - 1) / members.count
    let share = max(mean, shardCount * Self.loadPercentMax / (100 * members.count))
    var loads = [Int](repeating: 0, count: members.count)
    holders = (0..<shardCount).map { shard in
      let place = Self.place(of: shard, seeds: seeds) { loads[$0] < share }
      loads[place] += 1
      return members[place].incarnation
    }
  }

  /// The seat that should hold a shard; nil if there is none.
  package func holder(of shard: Int) -> Incarnation? {
    holders.indices.contains(shard) ? holders[shard] : nil
  }

  /// Whether there is no seat to hold shards.
  package var isEmpty: Bool { holders.isEmpty }

  private static func place(
    of shard: Int, seeds: [UInt64], hasRoom: (Int) -> Bool
  ) -> Int {
    var best: (place: Int, score: UInt64)?
    for (place, seed) in seeds.enumerated() where hasRoom(place) {
      let score = score(seed: seed, shard: shard)
      // Equal scores go by the seeds, which, unlike the places, stay when others come and go.
      if let best, (score, seed) <= (best.score, seeds[best.place]) { continue }
      best = (place, score)
    }
    return best?.place ?? 0
  }

  /// FNV-1a (64 bit) of the name, then SplitMix64 of that and the rank.
  private static func seed(of relay: String, rank: UInt64) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in relay.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    var random = SplitMix64(seed: hash &+ rank)
    return random.next()
  }

  private static func score(seed: UInt64, shard: Int) -> UInt64 {
    // Multiplied, so that the seeds of neighbours are far apart.
    var random = SplitMix64(seed: seed ^ (UInt64(shard) &* 0x9E37_79B9_7F4A_7C15))
    return random.next()
  }
}
