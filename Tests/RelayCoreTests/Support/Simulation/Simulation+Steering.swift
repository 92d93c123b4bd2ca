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
    guard !isFaultFree, chance(1, in: 4), let record = store.records.randomElement(using: &random),
      let end = record.end, end.state != .delivered
    else { return }
    var entry = record.entry
    entry.expiresAt = clock.wall.adding(milliseconds: 604_800_000)
    note(scheduler.obey(.requeue, of: entry, now: clock))
  }

  private mutating func note(_ verdict: CommandVerdict) {
    if verdict == .recording { commandCount += 1 }
  }

  private func needsPerson(_ entry: LineEntry) -> Bool { entry.standing != .queued }

  private mutating func command(for entry: LineEntry) -> Command {
    switch entry.standing {
    case .held: return .run
    case .blocked: return chance(1, in: 3) && !isFaultFree ? .retry : .discard(reason: "discarded")
    case .queued: break
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

  private mutating func chance(_ count: Int, in total: Int) -> Bool {
    Int.random(in: 0..<total, using: &random) < count
  }
}
