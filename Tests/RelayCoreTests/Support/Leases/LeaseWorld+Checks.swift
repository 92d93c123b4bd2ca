@testable import RelayCore

// The promises, each looked at wherever it could be broken.
extension LeaseWorld {
  /// Looks at what every relay may do at this moment, frozen ones as well: they look at the clock
  /// once they thaw, and that is now.
  mutating func checkStarts() {
    var starters: [Int: Int] = [:]
    for place in nodes.indices {
      let now = now(at: place)
      guard let book = nodes[place].book else { continue }
      let shards = (0..<limits.shardCount).filter { book.mayStart($0, at: now) }
      guard !shards.isEmpty else { continue }
      for shard in shards where starters.updateValue(place, forKey: shard) != nil {
        violated("two relays may start attempts of shard \(shard)")
      }
      checkRows(of: shards, ledBy: place, book)
      checkOthersAttempts(of: shards, ledBy: place)
    }
  }

  /// Who may start attempts is who the table says, or has a seat there that it does not know of
  /// yet.
  private mutating func checkRows(of shards: [Int], ledBy place: Int, _ book: LeaseBook) {
    var own = Set(book.givenUp + [book.incarnation].compactMap(\.self))
    if case .takeSeat(let seat, _) = book.pendingCall?.call { own.insert(seat.incarnation) }
    for shard in shards {
      guard let holder = tables.shards[shard].holder, own.contains(holder) else {
        violated("attempts of shard \(shard) may start at a stranger")
        continue
      }
    }
    if let seat = book.incarnation, couldBeTaken(seat, from: place) {
      violated("a relay may start attempts although its lease could be taken")
    }
  }

  private func couldBeTaken(_ seat: Incarnation, from place: Int) -> Bool {
    guard let row = tables.seats[seat] else { return false }
    return nodes.indices.contains { other in
      let now = now(at: other)
      guard other != place, let book = nodes[other].book, !book.hasLapsed(at: now) else {
        return false
      }
      return book.hasTimedOut(seat, at: now) && book.sightings[seat]?.beats == row.beats
    }
  }

  /// Attempts elsewhere may only be those of a relay that froze.
  private mutating func checkOthersAttempts(of shards: [Int], ledBy place: Int) {
    for other in nodes.indices
    where other != place && !nodes[other].attempts.isDisjoint(with: shards) {
      guard let book = nodes[other].book, !book.hasLapsed(at: now(at: other)) else { continue }
      violated("a shard may be attempted while another relay does so")
    }
  }

  /// Looks at what a transaction made of the tables.
  mutating func checkTables(before: LeaseTables) {
    for (old, new) in zip(before.shards, tables.shards) where old != new {
      if new.epoch <= old.epoch { violated("shard \(new.shard) moved without a greater epoch") }
      let lease = ShardLease(shard: new.shard, epoch: new.epoch)
      if let other = holders[lease], other != new.holder {
        violated("shard \(new.shard) has two writers in epoch \(new.epoch)")
      }
      holders[lease] = new.holder
    }
    for (lease, holder) in holders
    where tables.shards[lease.shard] != before.shards[lease.shard]
      && tables.shards[lease.shard].epoch != lease.epoch && tables.admits(holder, [lease])
    {
      violated("a write of old was let in")
    }
  }

  /// Looks at a call as it is made.
  mutating func checkCall(_ place: Int, _ call: LeaseCall) {
    switch call {
    case .claim(_, let dead, _) where !dead.isEmpty:
      if let troubleAt = nodes[place].troubleAt,
        now(at: place).milliseconds(since: troubleAt) < limits.ttlMs
      {
        violated("a takeover by one whose own beats failed meanwhile")
      }
    case .handOver(let handovers, _):
      if !nodes[place].attempts.isDisjoint(with: handovers.map(\.lease.shard)) {
        violated("a shard is handed over amid an attempt")
      }
    default: break
    }
  }

  mutating func checkTakenOver(_ seat: Incarnation) {
    figures.takenOver += 1
    for place in nodes.indices where nodes[place].book?.incarnation == seat {
      if nodes[place].book?.hasLapsed(at: now(at: place)) == false {
        violated("a good lease was taken over")
      }
    }
  }
}
