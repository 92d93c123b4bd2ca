// The calls to the tables, one after another: which is next, and what its answer means.
extension LeaseBook {
  /// The call that is due; nil if none is.
  ///
  /// All but taking a seat and reading need a reading that no call has made stale.
  mutating func nextCall(
    at now: MonotonicTime, random: inout some RandomNumberGenerator
  ) -> LeaseCall? {
    guard let incarnation, !isRenewalDue else {
      if isDraining, self.incarnation == nil { return .leave(givenUp) }
      return takingSeat(random: &random)
    }
    if let reading {
      if isDraining {
        if isDrained { return .leave([incarnation]) }
      } else {
        updatePlacement(of: reading, at: now)
        if let call = claim(by: incarnation, from: reading, at: now) { return call }
      }
      if let call = handover(by: incarnation, at: now) { return call }
    }
    return isReadDue ? .read : nil
  }

  mutating func callEnded(
    _ event: LeaseEvent, at now: MonotonicTime, random: inout some RandomNumberGenerator,
    into actions: inout [LeaseAction]
  ) {
    guard let pending = pendingCall else { return }
    pendingCall = nil
    switch event {
    case .callFailed, .callRefused, .callUnknown:
      let wait = limits.retryMs / 2
      callsFrom = now.adding(
        milliseconds: wait + Int64.random(in: 0...(limits.retryMs - wait), using: &random))
    default: break
    }
    switch (pending.call, event) {
    case (.takeSeat(let seat, _), .seated(let leases)):
      seated(seat, with: leases, sentAt: pending.sentAt, at: now, into: &actions)
    case (.takeSeat(let seat, let old), .callUnknown):
      seatInDoubt(seat.incarnation, instead: old)
    case (.read, .read(let reading)): take(reading, at: now, into: &actions)
    case (.claim, .claimed(let leases)):
      // After a lapse they are another seat's business: the next one gives this one up.
      if incarnation != nil { lead(leases, into: &actions) }
    case (.handOver, .handedOver(let shards)):
      let gone = shards.filter { holdings.removeValue(forKey: $0) != nil }
      if !gone.isEmpty { actions.append(.handedOver(gone)) }
    // It may still be done. As long as that is possible nobody may start anything, and only a new
    // seat makes it impossible.
    case (.handOver, .callUnknown): isRenewalDue = incarnation != nil
    case (.leave, .left): leave(into: &actions)
    default: break
    }
    if case .takeSeat = pending.call { return }
    guard case .read = pending.call else { return noteTablesChanged() }
    isReadDue = if case .read = event { false } else { true }
  }

  /// Has the tables read again before anything else is decided by them.
  private mutating func noteTablesChanged() {
    reading = nil
    isReadDue = true
  }

  // MARK: - Free and dead

  /// The claim of what is free, and of what seats held that have stood still for long enough.
  ///
  /// It claims what should be ours. The rest of a dead seat's shards is left free, for those whose
  /// it should be.
  private func claim(
    by seat: Incarnation, from reading: LeaseReading, at now: MonotonicTime
  ) -> LeaseCall? {
    let dead = reading.seats.filter { hasTimedOut($0.incarnation, at: now) }
      .map { SeatBeats(incarnation: $0.incarnation, beats: $0.beats) }
      .sorted { $0.incarnation.rawValue < $1.incarnation.rawValue }
    let holders = Set(reading.seats.map(\.incarnation)).subtracting(dead.map(\.incarnation))
    let claims = reading.shards
      .filter { row in
        row.holder.map { !holders.contains($0) } ?? true
          && placement.holder(of: row.shard) == seat
      }
      .map { ShardLease(shard: $0.shard, epoch: $0.epoch) }
    guard !dead.isEmpty || !claims.isEmpty else { return nil }
    return .claim(claims, deleting: dead, by: seat)
  }

  // MARK: - Handing over

  private func handover(by seat: Incarnation, at now: MonotonicTime) -> LeaseCall? {
    let handovers = holdings.sorted { $0.key < $1.key }.compactMap { shard, holding in
      holding.phase == .frozen
        ? target(of: shard, at: now).map { next in
          ShardHandover(lease: ShardLease(shard: shard, epoch: holding.epoch), next: next)
        } : nil
    }
    return handovers.isEmpty ? nil : .handOver(handovers, by: seat)
  }
}
