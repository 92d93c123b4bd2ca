/// Clients are divided into a fixed number of shards, so that several relays can share one
/// database: each delivers only for the shards whose lease it holds.
package enum Shard {
  /// The number of shards: enough that some dozens of relays can share them evenly.
  ///
  /// Once a store keeps what belongs to a shard, it must not change any more.
  package static let count = 1024

  /// The shard of a client: FNV-1a (64 bit) of its name, modulo ``count``.
  ///
  /// A hash of our own, since Swift's is seeded anew in each process.
  package static func of(client: String) -> Int {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in client.utf8 {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return Int(hash % UInt64(count))
  }
}
