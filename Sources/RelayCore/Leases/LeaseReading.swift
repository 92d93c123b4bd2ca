/// A row of the table `seat`: the right of one write connection of a relay to hold shards.
package struct SeatRow: Hashable, Sendable {
  /// The number that it was given at random when it was taken; no two seats ever have the same.
  package var incarnation: Incarnation
  /// The name of its relay, by which shards are placed; never by which a lease is renewed or taken.
  package var relay: String
  /// The release that its relay runs.
  package var version: String
  /// The number of the last beat that reached the database.
  package var beats: Int64
  /// Whether it hands its shards over and takes none.
  package var isDraining: Bool

  /// Puts a row together.
  package init(
    incarnation: Incarnation, relay: String, version: String, beats: Int64 = 0, isDraining: Bool
  ) {
    self.incarnation = incarnation
    self.relay = relay
    self.version = version
    self.beats = beats
    self.isDraining = isDraining
  }
}

/// A row of the table `shard`.
package struct ShardRow: Hashable, Sendable {
  /// The shard, from 0.
  package var shard: Int
  /// The seat that it was given to last; nil if it never had one.
  ///
  /// Once that seat is gone the shard is free.
  package var holder: Incarnation?
  /// The epoch, which grows with each change of the holder.
  package var epoch: Int64

  /// Puts a row together.
  package init(shard: Int, holder: Incarnation?, epoch: Int64) {
    self.shard = shard
    self.holder = holder
    self.epoch = epoch
  }
}

/// Both tables, read in one snapshot.
package struct LeaseReading: Hashable, Sendable {
  /// All seats.
  package var seats: [SeatRow]
  /// All shards.
  package var shards: [ShardRow]

  /// Puts a reading together.
  package init(seats: [SeatRow], shards: [ShardRow]) {
    self.seats = seats
    self.shards = shards
  }

  /// Whether a seat stands.
  func has(_ incarnation: Incarnation) -> Bool {
    seats.contains { $0.incarnation == incarnation }
  }
}
