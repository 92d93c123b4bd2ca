/// The shards that a scheduler decides for, where it does not decide for all of them.
///
/// A scheduler that holds every shard has none of this: see ``Scheduler/held``.
struct HeldShards: Sendable {
  private struct Holding {
    let epoch: Int64
    /// The clients that were noted.
    var clients: [ClientNumber] = []
    /// The number of waiting envelopes for each upstream.
    var waitingFor: [UpstreamNumber: Int] = [:]
  }

  private var holdings: [Int: Holding] = [:]
  private var shards = NumberTable<ClientNumber, Int>()

  /// Whether a shard is held.
  func holds(_ shard: Int) -> Bool { holdings[shard] != nil }

  /// The held shard of a client; nil if its shard is not held.
  func shard(of client: ClientNumber) -> Int? { shards[client] }

  /// The epoch under which a client's changes are written; nil if its shard is not held.
  func epoch(of client: ClientNumber) -> Int64? {
    shards[client].flatMap { holdings[$0]?.epoch }
  }

  /// Begins to hold a shard.
  mutating func take(_ lease: ShardLease) {
    holdings[lease.shard] = Holding(epoch: lease.epoch)
  }

  /// Notes a client of a shard; does nothing if that is not held.
  mutating func note(_ client: ClientNumber, in shard: Int) {
    guard shards[client] == nil, holdings[shard]?.clients.append(client) != nil else { return }
    shards[client] = shard
  }

  /// Counts envelopes of a client that begin to wait, or cease to.
  mutating func count(_ count: Int, for upstream: UpstreamNumber, of client: ClientNumber) {
    guard let shard = shards[client] else { return }
    holdings[shard]?.waitingFor[upstream, default: 0] += count
  }

  /// Ceases to hold a shard.
  ///
  /// - Returns: The number of its waiting envelopes for each upstream.
  mutating func release(_ shard: Int) -> [UpstreamNumber: Int] {
    guard let holding = holdings.removeValue(forKey: shard) else { return [:] }
    for client in holding.clients { shards[client] = nil }
    return holding.waitingFor
  }
}
