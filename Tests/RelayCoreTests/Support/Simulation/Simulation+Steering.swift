import RelayCore

// People change what waits, as it stands or as it stood a moment ago.
extension Simulation {
  /// Somebody looks through what waits, and does something about some of it; once the faults are
  /// over, about all that needs a person.
  mutating func steer() {
    for serial in store.line {
      let entry = store[serial].entry
      guard needsPerson(entry) || chance(1, in: 60) else { continue }
      guard isFaultFree || chance(1, in: 8) else { continue }
      note(scheduler.obey(command(for: entry), of: entry, now: clock))
    }
    pauseOrResume()
    beginRun()
    guard !isFaultFree, chance(1, in: 4), let record = store.records.randomElement(using: &random),
      let end = record.end, end.state != .delivered, record.movedTo == nil
    else { return }
    var entry = record.entry
    entry.expiresAt = clock.wall.adding(milliseconds: 604_800_000)
    entry.waitAgain(hold: record.isHeld, notBefore: record.notBefore, at: clock.wall)
    note(scheduler.obey(.requeue(into: Self.order(of: entry.lane)), of: entry, now: clock))
  }

  private mutating func note(_ verdict: CommandVerdict) {
    if verdict == .recording { commandCount += 1 }
  }

  /// Somebody pauses something now and then, and resumes everything once the faults are over.
  private mutating func pauseOrResume() {
    for target in store.pauses.sorted(by: { "\($0)" < "\($1)" })
    where isFaultFree || chance(1, in: 6) {
      setPaused(false, target)
    }
    guard !isFaultFree, chance(1, in: 4) else { return }
    let number = Int.random(in: 0..<24, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: setPaused(true, .upstream(UpstreamNumber(rawValue: Int32(number % 3))))
    case 1, 2: setPaused(true, .client(ClientNumber(rawValue: Int64(number))))
    default: setPaused(true, .lane(LaneNumber(rawValue: Int64(number * 2))))
    }
  }

  /// Every seventh lane stands from its first envelope on: in the same commit, and told before it.
  mutating func startPaused(_ lane: LaneNumber) {
    guard lane.rawValue % 7 == 3, store.startPaused(lane) else { return }
    scheduler.setPaused(true, .lane(lane), now: clock)
    runs.lookAtAll(in: &scheduler, now: clock)
    pauseCount += 1
  }

  private mutating func setPaused(_ isPaused: Bool, _ target: PauseTarget) {
    // What was decided before is carried out before.
    carryOutActions()
    store.setPaused(isPaused, target)
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
    edited.upstream = UpstreamNumber(
      rawValue: Int32.random(in: 0..<Int32(Self.upstreamCount), using: &random))
    edited.dueAt = chance(1, in: 2) ? nil : clock.wall.adding(milliseconds: 700)
    let content = EnvelopeContent(
      method: "POST", target: [0x2F], headers: HeaderBlock(), body: .inline([]))
    return EnvelopeEdit(content: content, tag: nil, entry: edited, notBefore: edited.dueAt)
  }

  mutating func chance(_ count: Int, in total: Int) -> Bool {
    Int.random(in: 0..<total, using: &random) < count
  }
}
