@testable import RelayCore
@testable import StoreModel

// Devices have what waits of theirs run, now and then; each run comes to its end.
extension Simulation {
  /// A change is durable: the scheduler learns of it, and then the runs.
  mutating func recorded(_ transition: Transition) {
    let client = scheduler.lane(transition.lane)?.client
    scheduler.recorded(transition, now: clock)
    runs.recorded(transition, of: client, in: &scheduler, now: clock)
  }

  /// Does what the runs ask for, as the relay does after each event.
  mutating func carryOutRuns() {
    runs.lookAround(in: &scheduler, now: clock)
    for order in runs.takeOrders() {
      guard scheduler.obey(.run, of: order.head, now: clock) != .recording else { continue }
      runs.releaseRefused(order.run, in: order.head.lane, &scheduler, now: clock)
    }
  }

  /// Somebody has a client's envelopes run, all of them or some by name, and does not stay.
  mutating func beginRun() {
    // Runs end with the lease, which is not theirs to know.
    guard !isFaultFree, !isSharded, chance(2, in: 3), let client = someClient() else { return }
    let namesEach = chance(1, in: 2)
    let entries = store.line.filter { entry in
      entry.client == client && entry.standing != .parked && (!namesEach || chance(1, in: 2))
    }
    let members = entries.compactMap { entry in
      store.envelopes[entry.serial].map { envelope in
        RunMember(
          id: envelope.id, serial: entry.serial, lane: entry.lane,
          isHeld: entry.standing == .held, notBefore: entry.attempts == 0 ? entry.dueAt : nil)
      }
    }
    let filter = namesEach ? RunFilter.ids(Set(members.map(\.id))) : .everything
    // What was decided before is carried out before.
    carryOutActions()
    guard
      let (number, isNew) = try? runs.join(
        filter, of: client, for: .nobody(at: nil), RunBook.anybody)
    else {
      return violate("there is no room for a run that nobody waits for")
    }
    if isNew { runs.begin(number, members, in: &scheduler, now: clock) }
    runCount += 1
    checkVerdicts(of: number)
    runs.leave(number)
  }

  /// What a run says of an envelope is so on the disk.
  private mutating func checkVerdicts(of number: RunBook.Number) {
    guard case .begun(let run) = runs.stand(of: number) else { return }
    for (member, verdict) in zip(run.members, run.verdicts) {
      // What is not kept any more, nobody can tell.
      guard let envelope = store.envelopes[member.serial] else { continue }
      let isDelivered = envelope.end?.state == .delivered
      if verdict == .delivered, !isDelivered {
        violate("run \(number) says of \(member.serial) that it was delivered")
      }
      if verdict == .pending, envelope.end != nil {
        violate("run \(number) waits for \(member.serial), which has ended")
      }
    }
  }

  /// What a run waits for moves: no lane that it waits for stands still, since nothing would tell
  /// it of time that passes.
  mutating func checkRuns() {
    for lane in runs.pendingLanes {
      switch scheduler.runView(of: lane).phase {
      case .starved, .ready, .inFlight, .recording: continue
      case let phase:
        violate("a run waits for lane \(lane.rawValue), which is \(String(describing: phase))")
      }
    }
  }
}
