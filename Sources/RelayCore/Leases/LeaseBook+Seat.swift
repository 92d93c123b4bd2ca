// The seat of our own: its beats, its lapse, and its replacement.
extension LeaseBook {
  // MARK: - Beats

  mutating func beatIfDue(at now: MonotonicTime, into actions: inout [LeaseAction]) {
    guard let incarnation, pendingBeat == nil, nextBeatAt.map({ $0 <= now }) ?? false else {
      return
    }
    beats += 1
    pendingBeat = PendingBeat(incarnation: incarnation, sentAt: now)
    nextBeatAt = now.adding(milliseconds: limits.beatMs)
    isReadDue = true
    actions.append(.beat(incarnation, beats: beats, isDraining: isDraining))
  }

  mutating func beatEnded(_ event: LeaseEvent, into actions: inout [LeaseAction]) {
    guard let beat = pendingBeat else { return }
    pendingBeat = nil
    switch event {
    case .beatSucceeded where beat.incarnation == incarnation: prove(at: beat.sentAt)
    // The seat may have been given up by a call whose answer has not come yet.
    case .beatRefused where beat.incarnation == incarnation && !isRenewalDue:
      cutOff(into: &actions)
    case .beatFailed:
      // Who cannot reach the database does not know whether others can: so all counting begins
      // anew. Else a failover of the database would have everybody take over everybody.
      sightings = [:]
    default: break
    }
  }

  private mutating func prove(at time: MonotonicTime) {
    provenAt = max(provenAt ?? time, time)
  }

  // MARK: - Lapse

  /// Ends all holding: the lease has lapsed, or the seat is gone.
  ///
  /// The seat itself is given up as well, even if it still stands: under the same epoch, what was
  /// begun before the lapse could still be written.
  mutating func cutOff(into actions: inout [LeaseAction]) {
    guard let seat = incarnation else { return }
    if !givenUp.contains(seat) { givenUp.append(seat) }
    incarnation = nil
    provenAt = nil
    isRenewalDue = false
    forgetView()
    if !holdings.isEmpty {
      holdings = [:]
      actions.append(.cutOff)
    }
  }

  private mutating func forgetView() {
    reading = nil
    sightings = [:]
    membership = [:]
    stableSince = nil
  }

  // MARK: - Taking a seat

  /// The call that takes a new seat, under a number that nobody had before.
  ///
  /// A seat that may have been taken by a call of unknown outcome is given up as well: that its row
  /// is deleted, or was never there, shows that the call is done with.
  func takingSeat(random: inout some RandomNumberGenerator) -> LeaseCall {
    let number = Int64(bitPattern: random.next() >> 1)
    let seat = SeatRow(
      incarnation: Incarnation(rawValue: number), relay: relay, version: version,
      isDraining: isDraining)
    var old = givenUp
    if let incarnation, !old.contains(incarnation) { old.append(incarnation) }
    return .takeSeat(seat, givingUp: old)
  }

  /// Notes that a new seat stands.
  ///
  /// Shards that are led all along go on, with the line that is in memory.
  mutating func seated(
    _ seat: SeatRow, with leases: [ShardLease], sentAt: MonotonicTime, at now: MonotonicTime,
    into actions: inout [LeaseAction]
  ) {
    // The old one has ended, whether or not the new one comes in time.
    if incarnation != nil, hasLapsed(at: now) { cutOff(into: &actions) }
    givenUp = []
    isRenewalDue = false
    incarnation = seat.incarnation
    beats = seat.beats
    provenAt = sentAt
    nextBeatAt = now.adding(milliseconds: limits.beatMs)
    forgetView()
    isReadDue = true
    // An answer that took so long gives up the seat at once.
    guard !hasLapsed(at: now) else { return }
    let epochs = Dictionary(uniqueKeysWithValues: leases.map { ($0.shard, $0.epoch) })
    let gone = holdings.keys.filter { epochs[$0] == nil }.sorted()
    lose(gone, into: &actions)
    for lease in leases where holdings[lease.shard] != nil {
      holdings[lease.shard]?.epoch = lease.epoch
      actions.append(.raise(lease))
    }
    lead(leases.filter { holdings[$0.shard] == nil }, into: &actions)
  }

  /// Notes that a call that took a seat has an unknown outcome.
  mutating func seatInDoubt(_ seat: Incarnation, instead old: [Incarnation]) {
    givenUp = old + [seat]
  }

  // MARK: - Holding

  mutating func lead(_ leases: [ShardLease], into actions: inout [LeaseAction]) {
    for lease in leases {
      holdings[lease.shard] = Holding(epoch: lease.epoch, phase: .leading)
      actions.append(.lead(lease))
    }
  }

  mutating func lose(_ shards: [Int], into actions: inout [LeaseAction]) {
    guard !shards.isEmpty else { return }
    for shard in shards { holdings[shard] = nil }
    actions.append(.lost(shards))
  }
}
