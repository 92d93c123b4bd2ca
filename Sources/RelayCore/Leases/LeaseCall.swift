/// A transaction on the tables of seats and shards.
///
/// Each but the first, the reading and the last passes the fence of the seat `by`.
package enum LeaseCall: Hashable, Sendable {
  /// Delete the rows of seats of our own, insert the new one, and give it the shards that the
  /// deleted ones held, each with its epoch + 1.
  ///
  /// Answered by ``LeaseEvent/seated(_:)``. The deletion waits for what the old seats' connections
  /// still do, so nothing of them is under way any more once it is committed.
  case takeSeat(SeatRow, givingUp: [Incarnation])
  /// Read both tables, in one snapshot.
  case read
  /// Delete those of these seats whose beats are still these, and give those of the shards that
  /// are free then, under the epoch that was seen, to the seat `by`, each with its epoch + 1.
  ///
  /// The seats are in an order that all relays share, so that two such calls do not deadlock.
  case claim([ShardLease], deleting: [SeatBeats], by: Incarnation)
  /// Give shards to other seats, each with its epoch + 1.
  case handOver([ShardHandover], by: Incarnation)
  /// Delete the rows of seats of our own. What they still hold is free then.
  case leave([Incarnation])
}

/// A seat at a certain beat.
package struct SeatBeats: Hashable, Sendable {
  /// The seat.
  package var incarnation: Incarnation
  /// The number of the last beat that was seen.
  package var beats: Int64

  /// Names a seat and a beat.
  package init(incarnation: Incarnation, beats: Int64) {
    self.incarnation = incarnation
    self.beats = beats
  }
}

/// A shard that is handed over by consent.
package struct ShardHandover: Hashable, Sendable {
  /// The lease that its holder gives up.
  package var lease: ShardLease
  /// The seat that it goes to.
  package var next: Incarnation

  /// Names a lease and a seat.
  package init(lease: ShardLease, next: Incarnation) {
    self.lease = lease
    self.next = next
  }
}
