import RelayCore

@testable import StoreModel

// Somebody forgets all that waits of a client, or what of it is in one lane or has a tag. Between
// the question what is to be left alone and the commit, or its failure, anything else may happen.
// What has ended is forgotten some time later.
extension Simulation {
  mutating func beginClearing() {
    // A store has one transaction at a time.
    guard !isFaultFree, reserved.isEmpty, clearing.isEmpty,
      chance(1, in: 8)
    else { return }
    guard let client = someClient(), holds(client) else { return }
    // What was decided before is carried out before.
    carryOutActions()
    let spared = scheduler.reserveAll(of: client)
    for serial in inFlight where store.place(of: serial)?.client == client {
      if !spared.inFlight.contains(serial) { violate("\(serial) is under way and not spared") }
    }
    clearing.insert(client)
    agenda.insert(
      Scheduled(
        life: life,
        event: .commitClearing(
          part(of: client), through: store.given.lastSerial, spared, isRolledBack: chance(1, in: 4))
      ),
      at: commitTime())
  }

  /// What somebody selects of a client's backlog.
  private mutating func part(of client: ClientNumber) -> BacklogSelection {
    let lanes = store.lanes.values.filter { $0.client == client }.map(\.name.lane).sorted()
    return BacklogSelection(
      client, lane: chance(1, in: 3) ? lanes.randomElement(using: &random) : nil,
      tag: chance(1, in: 3) ? Self.tag : nil)
  }

  mutating func clear(
    _ selection: BacklogSelection, through serial: Serial, besides spared: SparedEnvelopes,
    isRolledBack: Bool
  ) {
    let client = selection.client
    clearing.remove(client)
    guard !isRolledBack else { return scheduler.clearingFailed(of: client, now: clock) }
    let now = clock.wall
    transact { (store, commit) throws(StoreError) in
      let items = store.backlog(of: selection, through: serial)
      _ = try store.cancel(
        items, of: client, besides: spared, reason: "cleared", at: now, in: &commit)
    }
    if selection != BacklogSelection(client) { partClearedCount += 1 }
  }

  /// Somebody who has posted.
  mutating func someClient() -> ClientNumber? {
    store.clients["\(Int.random(in: devices.indices, using: &random))"]
  }

  /// Forgets what has ended and was kept long enough.
  mutating func forgetEnded() {
    let cutoffs = RetentionCutoffs(
      delivered: clock.wall.adding(milliseconds: -20_000),
      failed: clock.wall.adding(milliseconds: -60_000),
      keys: clock.wall.adding(milliseconds: -40_000))
    let page = transact { store, commit in
      store.deleteEnded(cutoffs, countMax: 200, in: &commit)
    }?.value
    for envelope in page?.deleted ?? [] {
      checkEnd(of: envelope)
      deleted.insert(envelope.id)
    }
  }
}
