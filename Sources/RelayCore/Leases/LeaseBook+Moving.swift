// What a reading shows of the other seats, and which shards should move.
extension LeaseBook {
  /// Takes in both tables, which decide what is held.
  mutating func take(
    _ reading: LeaseReading, at now: MonotonicTime, into actions: inout [LeaseAction]
  ) {
    guard let incarnation else { return }
    guard reading.has(incarnation) else {
      // It may have been given up by a call of our own; the next one tells.
      if !isRenewalDue { cutOff(into: &actions) }
      return
    }
    self.reading = reading
    settleAccounts(with: reading, by: incarnation, into: &actions)
    observe(reading, besides: incarnation, at: now)
    updatePlacement(of: reading, at: now)
    planMoves(at: now, into: &actions)
  }

  /// Makes what is held equal to what the table says.
  ///
  /// It may say more: a handover to us, or a claim of ours whose answer was lost.
  private mutating func settleAccounts(
    with reading: LeaseReading, by seat: Incarnation, into actions: inout [LeaseAction]
  ) {
    let ours = reading.shards.filter { $0.holder == seat }
    let epochs = Dictionary(uniqueKeysWithValues: ours.map { ($0.shard, $0.epoch) })
    lose(holdings.filter { epochs[$0.key] != $0.value.epoch }.keys.sorted(), into: &actions)
    lead(
      ours.filter { holdings[$0.shard] == nil }
        .map { ShardLease(shard: $0.shard, epoch: $0.epoch) }, into: &actions)
  }

  // MARK: - Observing

  private mutating func observe(
    _ reading: LeaseReading, besides seat: Incarnation, at now: MonotonicTime
  ) {
    var seen: [Incarnation: Sighting] = [:]
    for row in reading.seats where row.incarnation != seat {
      let known = sightings[row.incarnation]
      seen[row.incarnation] =
        known?.beats == row.beats ? known : Sighting(beats: row.beats, since: now)
    }
    sightings = seen
    let members = Dictionary(
      uniqueKeysWithValues: reading.seats.map { ($0.incarnation, $0.isDraining) })
    if members != membership {
      membership = members
      stableSince = now
    }
  }

  func timeout(of sighting: Sighting) -> MonotonicTime {
    sighting.since.adding(milliseconds: limits.ttlMs)
  }

  func hasTimedOut(_ seat: Incarnation, at now: MonotonicTime) -> Bool {
    sightings[seat].map { timeout(of: $0) <= now } ?? false
  }

  /// Whether a seat has beaten within the time in which it may use its lease.
  private func isBeating(_ seat: Incarnation, at now: MonotonicTime) -> Bool {
    sightings[seat].map { now.milliseconds(since: $0.since) < limits.leaseMs } ?? false
  }

  // MARK: - Placing

  mutating func updatePlacement(of reading: LeaseReading, at now: MonotonicTime) {
    let members = reading.seats
      .filter { row in
        !(row.incarnation == incarnation ? isDraining : row.isDraining)
          && !hasTimedOut(row.incarnation, at: now)
      }
      .map { ShardPlacement.Member(incarnation: $0.incarnation, relay: $0.relay) }
    guard members != placed else { return }
    placed = members
    placement = ShardPlacement(members: members, shardCount: limits.shardCount)
  }

  /// The seat to which a shard of ours goes; nil if it stays, or has to wait for one that beats.
  func target(of shard: Int, at now: MonotonicTime) -> Incarnation? {
    guard let next = placement.holder(of: shard), next != incarnation, isBeating(next, at: now)
    else { return nil }
    return next
  }

  /// Whether nothing is left to hand over, or nobody is there to take it.
  var isDrained: Bool {
    holdings.isEmpty || placement.isEmpty && holdings.values.allSatisfy { $0.phase == .frozen }
  }

  /// Begins moves that are due, and takes back those that are not any more.
  mutating func planMoves(at now: MonotonicTime, into actions: inout [LeaseAction]) {
    guard let reading else { return }
    updatePlacement(of: reading, at: now)
    var room = isDraining ? Int.max : voluntaryMoves(at: now)
    var hasBegun = false
    for (shard, holding) in holdings.sorted(by: { $0.key < $1.key }) {
      let isToGo = isDraining || target(of: shard, at: now) != nil
      if holding.phase == .leading, isToGo, room > 0 {
        holdings[shard]?.phase = .settling
        actions.append(.settle(shard))
        room -= 1
        hasBegun = true
      } else if holding.phase != .leading, !isToGo {
        holdings[shard]?.phase = .leading
        actions.append(.resume(shard))
      }
    }
    if hasBegun { nextMovesAt = now.adding(milliseconds: limits.moveRoundMs) }
  }

  private func voluntaryMoves(at now: MonotonicTime) -> Int {
    let isStable = stableSince.map { now.milliseconds(since: $0) >= limits.stableMs } ?? false
    let isTime = nextMovesAt.map { $0 <= now } ?? true
    return isStable && isTime ? limits.movesPerRoundMax : 0
  }
}
