/// What a ``LeaseBook`` asks for.
package enum LeaseAction: Hashable, Sendable {
  /// Write the number of the beat into the seat's row, and whether it drains.
  ///
  /// Answered by ``LeaseEvent/beatSucceeded``, ``LeaseEvent/beatFailed`` or
  /// ``LeaseEvent/beatRefused``.
  case beat(Incarnation, beats: Int64, isDraining: Bool)
  /// Make one of the calls that come one after another.
  case call(LeaseCall)

  /// Read the line of a shard and deliver for it, under this epoch.
  case lead(ShardLease)
  /// Go on with a shard that is led already, under this greater epoch from now on.
  case raise(ShardLease)
  /// Start no attempts of a shard; tell when none is under way. Posts are still accepted.
  case settle(Int)
  /// Accept nothing more of a shard; tell when all of it is committed.
  case freeze(Int)
  /// Take back ``settle(_:)`` and ``freeze(_:)``.
  case resume(Int)
  /// Forget shards that are others' from now on, by consent.
  case handedOver([Int])
  /// Forget shards that have become others' without consent, and cut their attempts off.
  case lost([Int])
  /// Cut all attempts off and forget all shards: the lease has lapsed, or the seat is gone.
  case cutOff
  /// The drain is complete, and the seat is given up; nothing more is asked for.
  case drained
}
