import RelayCore

/// A model of the tables `seat` and `shard`, with the transactions that relays make on them.
///
/// Each is done as a whole or not at all, as PostgreSQL's locks on the seats' rows have it.
struct LeaseTables: Hashable {
  private(set) var seats: [Incarnation: SeatRow] = [:]
  private(set) var shards: [ShardRow]

  init(shardCount: Int) {
    shards = (0..<shardCount).map { ShardRow(shard: $0, holder: nil, epoch: 0) }
  }

  /// Whether the fence lets a write transaction go on; refused ones fail with `WS001`.
  func admits(_ seat: Incarnation, _ leases: [ShardLease] = []) -> Bool {
    seats[seat] != nil
      && leases.allSatisfy {
        shards[$0.shard].holder == seat && shards[$0.shard].epoch == $0.epoch
      }
  }

  /// Whether a seat holds a shard, rather than being named by its row alone.
  func holds(_ shard: Int) -> Bool {
    shards[shard].holder.map { seats[$0] != nil } ?? false
  }

  /// Writes a beat.
  ///
  /// - Returns: Whether there is such a seat.
  mutating func beat(_ seat: Incarnation, beats: Int64, isDraining: Bool) -> Bool {
    guard seats[seat] != nil else { return false }
    seats[seat]?.beats = beats
    seats[seat]?.isDraining = isDraining
    return true
  }

  /// Carries a call out.
  ///
  /// - Returns: The answer.
  mutating func carryOut(_ call: LeaseCall) -> LeaseEvent {
    switch call {
    case .takeSeat(let seat, let old): return takeSeat(seat, givingUp: old)
    case .read: return .read(reading)
    case .claim(let claims, let dead, let taker):
      guard admits(taker) else { return .callRefused }
      for row in dead where seats[row.incarnation]?.beats == row.beats {
        seats[row.incarnation] = nil
      }
      return .claimed(give(claims.filter { !holds($0.shard) }, to: taker))
    case .handOver(let handovers, let giver):
      guard admits(giver, handovers.map(\.lease)) else { return .callRefused }
      let possible = handovers.filter { seats[$0.next]?.isDraining == false }
      for handover in possible { _ = give([handover.lease], to: handover.next) }
      return .handedOver(possible.map(\.lease.shard))
    case .leave(let old):
      for seat in old { seats[seat] = nil }
      return .left
    }
  }

  private var reading: LeaseReading {
    LeaseReading(
      seats: seats.values.sorted { $0.incarnation.rawValue < $1.incarnation.rawValue },
      shards: shards)
  }

  private mutating func takeSeat(_ seat: SeatRow, givingUp old: [Incarnation]) -> LeaseEvent {
    // Only what stood until now had shards: what a gone seat had may be another's, or free.
    let standing = Set(old.filter { seats[$0] != nil })
    for seat in old { seats[seat] = nil }
    seats[seat.incarnation] = seat
    let theirs = shards.filter { $0.holder.map(standing.contains) ?? false }
    let leases = theirs.map { ShardLease(shard: $0.shard, epoch: $0.epoch) }
    return .seated(give(leases, to: seat.incarnation))
  }

  private mutating func give(_ leases: [ShardLease], to seat: Incarnation) -> [ShardLease] {
    leases.filter { shards[$0.shard].epoch == $0.epoch }.map { lease in
      shards[lease.shard].holder = seat
      shards[lease.shard].epoch += 1
      return ShardLease(shard: lease.shard, epoch: shards[lease.shard].epoch)
    }
  }
}
