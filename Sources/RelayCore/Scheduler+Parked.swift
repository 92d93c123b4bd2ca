// Envelopes that wait for sequence numbers before their own: they are counted, and no window holds
// them. The store moves them to the end of the line once nothing is missing before them, and says
// so by ``Scheduler/placed(_:now:)``. Which of them there are is not remembered, since there may be
// millions; so a change of one that has moved meanwhile is moot, and whoever asked for it looks
// again.
extension Scheduler {
  /// Counts in an envelope that waits for the numbers before its own.
  mutating func admitParked(_ entry: LineEntry, order: LaneOrder) {
    if lanes[entry.lane] == nil {
      lanes[entry.lane] = Lane(
        client: entry.client, order: order, seenThrough: order.rank(of: entry.serial) - 1)
      lanes[entry.lane]?.phase = .parked
    }
    lanes[entry.lane]?.parked += 1
    lanes[entry.lane]?.waiting += 1
    clientsWaiting[entry.client, default: 0] += 1
    waitingFor[entry.upstream, default: 0] += 1
    waitingTotal += 1
  }

  /// Nothing is missing any more before an envelope that was parked: it stands at the end of the
  /// line now, under a new number.
  ///
  /// - Returns: How many stand in its lane now, itself included: its position.
  package mutating func placed(_ entry: LineEntry, now: Now) -> Int {
    let order = lanes[entry.lane]?.order ?? .strict
    countOutParked(of: entry.lane, for: entry.upstream)
    return accepted(entry, order: order, now: now)
  }

  /// Somebody asks for something to be done with one that is parked, as the store shows it.
  mutating func obeyParked(
    _ command: Command, of entry: LineEntry, now: Now
  ) -> CommandVerdict {
    guard let parked = lanes[entry.lane]?.parked, parked > 0 else { return .gone }
    switch command {
    case .run: return .parked
    case .retry, .discard: return .notBlocked
    case .cancel, .edit, .requeue: break
    }
    changing.insert(entry.serial)
    changingParked.insert(entry.serial)
    set(change(for: command), of: entry, now: now)
    return .recording
  }

  /// The deadline of one that is parked has passed.
  mutating func expireParked(_ entry: LineEntry, now: Now) {
    guard let parked = lanes[entry.lane]?.parked, parked > 0, entry.expiresAt <= now.wall,
      changing.insert(entry.serial).inserted
    else { return }
    changingParked.insert(entry.serial)
    set(.end(.expired, reason: Self.expiredParkedReason), of: entry, now: now)
  }

  private static let expiredParkedReason =
    "its deadline passed while sequence numbers before its own were missing"

  /// A change of one that was parked when it was asked for is durable.
  mutating func recordedParked(_ transition: Transition) {
    // It had moved, or ended, before.
    guard !transition.isMoot else { return }
    switch transition.change {
    case .end:
      countOutParked(of: transition.lane, for: transition.upstream)
      forgetIfEmpty(transition.lane)
    case .edit(let edit):
      recount(from: transition.upstream, to: edit.entry.upstream)
    case .begin, .retry, .block, .release, .requeue: break
    }
  }

  private mutating func countOutParked(of number: LaneNumber, for upstream: UpstreamNumber) {
    lanes[number]?.parked -= 1
    countOut(of: number, for: upstream)
  }

  private mutating func forgetIfEmpty(_ number: LaneNumber) {
    if lanes[number]?.phase == .parked, lanes[number]?.parked == 0 { lanes[number] = nil }
  }

  /// A lane in which nothing stands: it goes on once something comes, or is forgotten if nothing is
  /// parked in it either.
  mutating func restEmpty(_ number: LaneNumber) {
    noteTurn(of: number)
    if let order = lanes[number]?.order { starving[order].remove(number) }
    if let parked = lanes[number]?.parked, parked > 0 {
      lanes[number]?.phase = .parked
      // What was left behind a window that was cut short has ended.
      lanes[number]?.noteEnd()
    } else {
      lanes[number] = nil
    }
  }
}
