@testable import RelayCore
@testable import StoreModel

// People change what waits, as it stands or as it stood a moment ago.
extension Simulation {
  /// Somebody looks through what waits, and does something about some of it; once the faults are
  /// over, about all that needs a person.
  mutating func steer() {
    for entry in store.line {
      guard needsPerson(entry) || chance(1, in: 60) else { continue }
      guard isFaultFree || chance(1, in: 8) else { continue }
      note(scheduler.obey(command(for: entry), of: entry, now: clock))
    }
    pauseOrResume()
    beginRun()
    steerEnded()
  }

  /// Somebody does something about an envelope that has ended undelivered.
  ///
  /// What has ended, and stays so, is the store's alone.
  private mutating func steerEnded() {
    guard !isFaultFree, chance(1, in: 2), let serial = store.ended.randomElement(using: &random),
      scheduler.changing[serial] == nil,
      let record = store.envelopes[serial].flatMap({ store.record($0.id) }),
      record.state != .delivered
    else { return }
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      // If it had arrived as it was, its correction would be lost: nobody is let do that.
      guard !record.entry.isInDoubt else { return }
      let edit = edit(of: record.entry)
      let isDone = transact { store, commit in store.correctEnded(edit, in: &commit) }?.value
      if isDone == true { endedChangeCount += 1 }
      if chance(1, in: 2) { requeue(record.id) }
    case 1:
      let now = clock.wall
      let isDone = transact { store, commit in
        store.cancelEnded(
          record.entry, reason: "cancelled after its end", at: now, in: &commit)
      }?.value
      if isDone == true { endedChangeCount += 1 }
    default: requeue(record.id)
    }
  }

  private mutating func requeue(_ id: EnvelopeID) {
    guard let record = store.record(id) else { return }
    var entry = record.entry
    entry.expiresAt = clock.wall.adding(milliseconds: 604_800_000)
    entry.waitAgain(hold: record.draft.hold, notBefore: record.draft.notBefore, at: clock.wall)
    note(scheduler.obey(.requeue(into: order(of: entry.lane)), of: entry, now: clock))
  }

  private mutating func note(_ verdict: CommandVerdict) {
    if verdict == .recording { commandCount += 1 }
  }

  /// Somebody pauses something now and then, and resumes everything once the faults are over.
  private mutating func pauseOrResume() {
    for target in store.pauses.sorted(by: { "\($0)" < "\($1)" })
    where isFaultFree || chance(1, in: 6) {
      setPaused(false, name(of: target))
    }
    guard !isFaultFree, chance(1, in: 4) else { return }
    let number = Int.random(in: devices.indices, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: setPaused(true, .upstream(Self.upstreamName(number % Self.upstreamCount)))
    case 1, 2: setPaused(true, .client("\(number)"))
    default: setPaused(true, .lane(LaneName(client: "\(number)", lane: "\(number * 2)")))
    }
  }

  private func name(of target: PauseTarget) -> PauseName {
    let name: PauseName? =
      switch target {
      case .upstream(let number):
        store.upstreams.first { $0.value == number }.map { .upstream($0.key) }
      case .client(let number): store.clients.first { $0.value == number }.map { .client($0.key) }
      case .lane(let number): store.lanes[number].map { .lane($0.name) }
      }
    guard let name else { preconditionFailure("what is paused has a name") }
    return name
  }

  private mutating func setPaused(_ isPaused: Bool, _ name: PauseName) {
    // What was decided before is carried out before.
    carryOutActions()
    let result = transact { (store, commit) throws(StoreError) in
      try store.setPaused(isPaused, name, Self.rules, in: &commit)
    }?.value
    guard case .success(let target) = result else { return violate("\(name) has no room") }
    scheduler.setPaused(isPaused, target, now: clock)
    runs.lookAtAll(in: &scheduler, now: clock)
    pauseCount += 1
  }

  private func needsPerson(_ entry: LineEntry) -> Bool {
    entry.standing == .held || entry.standing == .blocked || standsUnwritten(entry)
  }

  private mutating func command(for entry: LineEntry) -> SteeringCommand {
    if standsUnwritten(entry) { return .cancel(reason: "cannot be written") }
    switch entry.standing {
    case .held: return .run
    case .blocked: return chance(1, in: 3) && !isFaultFree ? .retry : .discard(reason: "discarded")
    case .queued, .parked: break
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return .cancel(reason: "cancelled")
    case 1: return .edit(edit(of: entry))
    default: return .run
    }
  }

  private mutating func edit(of entry: LineEntry) -> EnvelopeEdit {
    var edited = entry
    edited.upstream = Self.upstreamNumbers.randomElement(using: &random) ?? entry.upstream
    edited.dueAt = chance(1, in: 2) ? nil : clock.wall.adding(milliseconds: 700)
    editCount += 1
    // Above what devices post.
    let content = Self.content(1 << 32 + editCount)
    return EnvelopeEdit(content: content, tag: nil, entry: edited, notBefore: edited.dueAt)
  }

  mutating func chance(_ count: Int, in total: Int) -> Bool {
    Int.random(in: 0..<total, using: &random) < count
  }
}
