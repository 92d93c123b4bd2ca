/// The times and numbers by which relays share the shards of one database.
///
/// All relays of a cluster have the same ones: an observer's ``ttlMs`` has to be the holder's.
package struct LeaseLimits: Hashable, Sendable {
  /// The time for which an observer sees a seat stand still before it takes it over, in
  /// milliseconds.
  package var ttlMs: Int64 = 3000
  /// The time from one beat of a seat to the next, in milliseconds.
  package var beatMs: Int64 = 500
  /// The time from one look of a spare to the next while the store is being given up, in
  /// milliseconds: nobody can write meanwhile.
  package var handoverLookMs: Int64 = 20
  /// The time from when a relay announces that it gives its store up until all spares have seen it,
  /// in milliseconds: a beat, and what the beats of both may be late.
  package var noticeMs: Int64 { beatMs + 150 }
  /// The time for which a relay that has given its store up looks for the one that takes it, in
  /// milliseconds.
  package var successionMs: Int64 = 5000
  /// The last part of the TTL, in which the holder itself does not use its lease any more, in
  /// milliseconds.
  ///
  /// It covers clocks that run at different speeds, and what was decided just before the end.
  package var marginMs: Int64 = 1000
  /// The time for which the same seats have to stand before shards move voluntarily, in
  /// milliseconds.
  package var stableMs: Int64 = 10_000
  /// The time from one round of voluntary moves to the next, in milliseconds.
  package var moveRoundMs: Int64 = 500
  /// The most voluntary moves that a relay begins in a round: with the above, 8 a second.
  package var movesPerRoundMax = 4
  /// The longest wait after a call to the database that failed, in milliseconds.
  ///
  /// At least half of it; the rest is random, so that relays do not fall into step.
  package var retryMs: Int64 = 200
  /// For how long a spare that has used the database before bears it that the database refuses it,
  /// in milliseconds: a password is changed in two places, one after the other.
  package var refusalMs: Int64 = 60_000
  /// How long the only server may lack the relay's seat before its database counts as put back to
  /// an older state, in milliseconds.
  package var behindMs: Int64 = 10_000
  /// The number of shards; another one in tests alone.
  package var shardCount = Shard.count

  /// The defaults.
  package init() {}

  /// The time for which a holder uses its lease, from when it sent the last beat that succeeded, in
  /// milliseconds.
  var leaseMs: Int64 { ttlMs - marginMs }
}
