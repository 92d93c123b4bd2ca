// Envelopes that wait for sequence numbers before their own. They are counted, but in no window.
// The store moves them to the end of the line once nothing is missing before them, and reports it
// by ``Scheduler/placed(_:now:)``. The scheduler does not remember them one by one, since there may
// be millions. So a change of one that has moved meanwhile is moot, and whoever asked for it looks
// again.
extension Scheduler {
  /// Counts an envelope that waits for the numbers before its own.
  mutating func admitParked(_ entry: LineEntry, order: LaneOrder) {
    if lanes[entry.lane] == nil {
      lanes[entry.lane] = Lane(
        client: entry.client, order: order, seenThrough: order.rank(of: entry.serial) - 1)
      setPhase(of: entry.lane, .parked)
    }
    lanes[entry.lane]?.parked += 1
    lanes[entry.lane]?.waiting += 1
    noteParked(in: entry.lane) { $0.insert(entry.acceptedAt) }
    clientsWaiting[entry.client, default: 0] += 1
    countWaiting(1, for: entry.upstream, of: entry.client)
    waitingTotal += 1
  }

  /// Moves an envelope that was parked to the end of the line, under a new number: nothing before
  /// it is missing any more.
  ///
  /// - Returns: Its position: the number of envelopes in its lane now, itself included.
  package mutating func placed(_ entry: LineEntry, now: Now) -> Int {
    guard decides(for: entry.client) else { return 0 }
    let order = lanes[entry.lane]?.order ?? .strict
    countOutParked(of: entry.lane, for: entry.upstream, acceptedAt: entry.acceptedAt)
    return accepted(entry, order: order, now: now)
  }

  /// Carries out a command on an envelope that the store shows as parked.
  mutating func obeyParked(
    _ command: SteeringCommand, of entry: LineEntry, now: Now
  ) -> CommandVerdict {
    guard let parked = lanes[entry.lane]?.parked, parked > 0 else { return .gone }
    switch command {
    case .run: return .parked
    case .retry, .discard: return .notBlocked
    case .cancel, .edit, .requeue: break
    }
    changing[entry.serial] = entry.client
    changingParked.insert(entry.serial)
    set(change(for: command), of: entry, now: now)
    return .recording
  }

  /// Ends a parked envelope whose deadline has passed.
  mutating func expireParked(_ entry: LineEntry, now: Now) {
    guard let parked = lanes[entry.lane]?.parked, parked > 0, entry.expiresAt <= now.wall,
      noteChanging(entry)
    else { return }
    changingParked.insert(entry.serial)
    set(.end(.expired, reason: Self.expiredParkedReason), of: entry, now: now)
  }

  private static let expiredParkedReason =
    "its deadline passed while sequence numbers before its own were missing"

  /// Acts on a durable change of an envelope that was parked when the change was asked for.
  mutating func recordedParked(_ transition: Transition) {
    // A moot change: the envelope had moved or ended before.
    guard !transition.isMoot else { return }
    switch transition.change {
    case .end:
      countOutParked(
        of: transition.lane, for: transition.upstream, acceptedAt: transition.acceptedAt)
      forgetIfEmpty(transition.lane)
    case .edit(let edit):
      recount(from: transition.upstream, to: edit.entry)
    case .begin, .retry, .block, .release, .requeue: break
    }
  }

  private mutating func countOutParked(
    of number: LaneNumber, for upstream: UpstreamNumber, acceptedAt: WallTime?
  ) {
    takeOutParked(of: number, acceptedAt: acceptedAt)
    countOut(of: number, for: upstream)
  }

  /// Notes that an envelope of a lane is parked no more.
  mutating func takeOutParked(of number: LaneNumber, acceptedAt: WallTime?) {
    guard lanes[number] != nil else { return }
    lanes[number]?.parked -= 1
    noteParked(in: number) { $0.remove(acceptedAt ?? .unknown) }
  }

  /// Changes when the parked envelopes of a lane were accepted.
  mutating func noteParked(in number: LaneNumber, _ change: (inout TimeTally) -> Void) {
    var times = parkedTimes[number] ?? TimeTally()
    change(&times)
    parkedTimes[number] = times.count > 0 ? times : nil
  }

  private mutating func forgetIfEmpty(_ number: LaneNumber) {
    if lanes[number]?.phase == .parked, lanes[number]?.parked == 0 { lanes[number] = nil }
  }

  /// Rests a lane in which nothing stands: it goes on once something comes, or is forgotten if
  /// nothing is parked in it either.
  mutating func restEmpty(_ number: LaneNumber) {
    noteHeadChange(of: number)
    if let order = lanes[number]?.order { starving[order].remove(number) }
    if let parked = lanes[number]?.parked, parked > 0 {
      setPhase(of: number, .parked)
      // Whatever stood behind a shortened window has ended.
      lanes[number]?.noteEnd()
    } else {
      lanes[number] = nil
    }
  }
}
