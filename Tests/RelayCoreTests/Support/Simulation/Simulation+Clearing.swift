import RelayCore

// Somebody forgets all that waits of a client. Between the question what is to be left alone and
// the commit, or its failure, anything else may happen.
extension Simulation {
  mutating func beginClearing() {
    // A store has one transaction at a time.
    guard !isFaultFree, reserved.isEmpty, clearing.isEmpty,
      Int.random(in: 0..<8, using: &random) == 0
    else { return }
    let client = ClientNumber(rawValue: Int64.random(in: 0..<24, using: &random))
    guard holds(client) else { return }
    // What was decided before is carried out before.
    carryOutActions()
    let spared = scheduler.reserveAll(of: client)
    for serial in inFlight where store[serial].entry.client == client {
      if !spared.inFlight.contains(serial) { violate("\(serial) is under way and not spared") }
    }
    let serials = store.line.filter { serial in
      store[serial].entry.client == client && !spared.contains(serial)
    }
    clearing.insert(client)
    agenda.insert(
      Scheduled(
        life: life,
        event: .commitClearing(
          client, serials, isRolledBack: Int.random(in: 0..<4, using: &random) == 0)),
      at: commitTime())
  }

  mutating func clear(_ client: ClientNumber, _ serials: [Serial], isRolledBack: Bool) {
    clearing.remove(client)
    guard !isRolledBack else { return scheduler.clearingFailed(of: client, now: clock) }
    var backlog = ClearedBacklog(client: client)
    for serial in serials {
      let entry = store[serial].entry
      // What was parked may have moved meanwhile, which in a store's one transaction it cannot.
      guard store[serial].movedTo == nil else { continue }
      if store[serial].end != nil { violate("\(serial) ended while it was cleared") }
      var transition = Transition(
        serial: serial, lane: entry.lane, upstream: entry.upstream,
        change: .end(.cancelled, reason: "cleared"), at: clock.wall, epoch: 1)
      noteBackoff(by: transition)
      store.commit(&transition)
      backlog.append(
        ClearedBacklog.Item(
          serial: serial, lane: entry.lane, upstream: entry.upstream,
          isParked: entry.standing == .parked))
    }
    scheduler.cleared(backlog, now: clock)
    runs.cleared(backlog, in: &scheduler, now: clock)
    clearedCount += serials.count
  }
}
