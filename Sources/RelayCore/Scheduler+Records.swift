// What is on its way to the disk, and what follows when it has arrived there.

extension Scheduler {
  mutating func record(_ transition: Transition) {
    lanes[transition.lane]?.phase = .recording
    actions.append(.record(transition))
  }

  mutating func end(_ head: LineEntry, as state: EnvelopeState, reason: String, now: Now) {
    record(
      Transition(
        serial: head.serial, lane: head.lane, upstream: head.upstream,
        change: .end(state, reason: reason), at: now.wall, epoch: epoch))
  }

  /// A change that was asked for is durable.
  package mutating func recorded(_ transition: Transition, now: Now) {
    guard let head = lanes[transition.lane]?.head, head.serial == transition.serial else {
      endedBehindHead(transition)
      return
    }
    switch transition.change {
    case .end:
      blocked.remove(transition.lane)
      ending.remove(transition.serial)
      countOut(of: transition.lane, for: head.upstream)
      advance(transition.lane, now: now)
    case .block:
      lanes[transition.lane]?.window[0].standing = .blocked
      countAttempt(of: transition)
      settleHead(of: transition.lane, now: now)
    case .retry(let time):
      lanes[transition.lane]?.window[0].dueAt = time
      countAttempt(of: transition)
      noteBackoff(of: head, transition: transition, until: time, now: now)
      settleHead(of: transition.lane, now: now)
    }
  }

  private mutating func countAttempt(of transition: Transition) {
    guard let attempt = transition.attempt else { return }
    lanes[transition.lane]?.window[0].attempts = attempt.number
  }

  private mutating func noteBackoff(
    of head: LineEntry, transition: Transition, until time: WallTime, now: Now
  ) {
    guard time > now.wall, transition.attempt?.status == nil else { return }
    upstreams[head.upstream]?.connectionBackoff.insert(transition.lane)
  }

  /// An envelope that is not its lane's head ended.
  private mutating func endedBehindHead(_ transition: Transition) {
    guard case .end = transition.change, ending.remove(transition.serial) != nil else { return }
    if let place = lanes[transition.lane]?.place(of: transition.serial) {
      lanes[transition.lane]?.window.remove(at: place)
      windowEntries -= 1
    } else {
      sweep?.ended.insert(transition.serial)
    }
    countOut(of: transition.lane, for: transition.upstream)
  }

  /// The deadline of a waiting envelope has passed, wherever in its lane it stands.
  ///
  /// One that is being attempted, or whose outcome is on its way to the disk, is left alone, as is
  /// one that has left its lane since the line was read.
  package mutating func expire(_ entry: LineEntry, now: Now) {
    guard let head = lanes[entry.lane]?.head, let seen = lanes[entry.lane]?.seenThrough,
      entry.expiresAt <= now.wall, inFlight[entry.serial] == nil
    else { return }
    if head.serial == entry.serial {
      guard lanes[entry.lane]?.phase != .recording else { return }
      end(head, as: .expired, reason: Self.expiredReason, now: now)
      return
    }
    let stillWaits = entry.serial > seen || lanes[entry.lane]?.place(of: entry.serial) != nil
    guard stillWaits, ending.insert(entry.serial).inserted else { return }
    actions.append(
      .record(
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          change: .end(.expired, reason: Self.expiredReason), at: now.wall, epoch: epoch)))
  }

  /// How many ends of envelopes behind a head are on their way to the disk.
  ///
  /// While there are any, a page of the line may still show what has ended.
  package var endingCount: Int { ending.count }
}
