@testable import RelayCore

extension ManualRelay {
  /// Does what the runs ask for, as the relay does after each event.
  mutating func carryOutRuns() {
    runs.lookAround(in: &scheduler, now: clock)
    for order in runs.takeOrders() {
      guard scheduler.obey(.run, of: order.head, now: clock) != .recording else { continue }
      runs.releaseRefused(order.run, in: order.head.lane, &scheduler, now: clock)
    }
  }

  /// What waits now, as a run is about it.
  ///
  /// - Parameter wishes: The envelopes whose sender gave a `notBefore`.
  func members(
    wishes: Set<Serial> = [], where isMember: (LineEntry) -> Bool = { _ in true }
  ) -> [RunMember] {
    line.filter(isMember).map { entry in
      RunMember(
        id: EnvelopeID(serial: entry.serial, acceptedAt: entry.acceptedAt, random: 0),
        serial: entry.serial, lane: entry.lane, isHeld: entry.standing == .held,
        notBefore: wishes.contains(entry.serial) ? entry.dueAt : nil)
    }
  }

  /// Begins a run, or joins one that is under way.
  @discardableResult
  mutating func run(
    _ filter: RunFilter = .everything, client: Int64 = 1, wishes: Set<Serial> = [],
    where isMember: (LineEntry) -> Bool = { _ in true }
  ) -> RunBook.Number {
    guard
      let (number, isNew) = try? runs.join(
        filter, of: ClientNumber(rawValue: client), for: .nobody(at: nil), RunBook.anybody)
    else {
      return 0
    }
    if isNew {
      runs.begin(
        number, members(wishes: wishes, where: isMember), in: &scheduler, now: clock)
      take()
    }
    return number
  }

  mutating func setPaused(_ isPaused: Bool, _ target: PauseTarget) {
    scheduler.setPaused(isPaused, target, now: clock)
    runs.lookAtAll(in: &scheduler, now: clock)
    take()
  }

  /// What a run says of each envelope, by number.
  func verdicts(_ number: RunBook.Number = 1) -> [Serial: ClientRun.Verdict] {
    guard case .begun(let run) = runs.stand(of: number) else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: zip(run.members, run.verdicts).map { ($0.serial, $1) })
  }

  func report(_ number: RunBook.Number = 1) -> ClientRun? {
    guard case .begun(let run) = runs.stand(of: number) else { return nil }
    return run
  }
}

extension RunBook {
  /// Limits without shares.
  static var anybody: PlaceLimits {
    PlaceLimits(
      total: Limits.runsMax, perClient: Limits.runsMax, perSource: Limits.runsMax, reserve: 0)
  }
}
