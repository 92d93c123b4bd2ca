// Changes on their way to the disk, and what follows once they are there.

extension Scheduler {
  mutating func record(_ transition: Transition) {
    setPhase(of: transition.lane, .recording)
    actions.append(.record(transition))
  }

  mutating func end(_ head: LineEntry, as state: EnvelopeState, reason: String, now: Now) {
    record(
      Transition(
        serial: head.serial, lane: head.lane, upstream: head.upstream,
        change: .end(state, reason: reason), at: now.wall, epoch: epoch(of: head.client)))
  }

  /// Applies a requested change that is durable now.
  package mutating func recorded(_ transition: Transition, now: Now) {
    guard isCurrent(transition) else { return }
    let wasBehind =
      !changing.isEmpty && changing.removeValue(forKey: transition.serial) != nil
    noteWritable(by: transition)
    if case .requeue(let entry) = transition.change {
      let isLatest = latestRequeues.remove(transition.serial) != nil
      if !transition.isMoot { requeued(entry, order: isLatest ? .latest : .strict, now: now) }
      return
    }
    if wasBehind, changingParked.remove(transition.serial) != nil {
      return recordedParked(transition)
    }
    guard let head = lanes[transition.lane]?.head, head.serial == transition.serial else {
      if wasBehind { recordedBehindHead(transition) }
      return
    }
    switch transition.change {
    case .begin:
      announced(head, isMoot: transition.isMoot, now: now)
    case .end:
      blocked.remove(transition.lane)
      countOut(of: transition.lane, for: head.upstream)
      advance(transition.lane, isAnswered: transition.endsByAnswer, now: now)
    case .block:
      lanes[transition.lane]?.window[0].standing = .blocked
      lanes[transition.lane]?.backoffs[head.upstream] = nil
      lanes[transition.lane]?.window[0].isInDoubt = false
      countAttempt(of: transition)
      settleHead(of: transition.lane, now: now)
    case .retry(let asked):
      let time = bounded(asked, of: head, now: now)
      lanes[transition.lane]?.window[0].dueAt = time
      lanes[transition.lane]?.window[0].isInDoubt = transition.doubt != nil
      countAttempt(of: transition)
      noteBackoff(of: head, transition: transition, until: time, now: now)
      settleHead(of: transition.lane, now: now)
    case .release:
      blocked.remove(transition.lane)
      upstreams[head.upstream]?.connectionBackoff.remove(transition.lane)
      lanes[transition.lane]?.window[0].release()
      lanes[transition.lane]?.forgetFailures(at: head.upstream)
      settleHead(of: transition.lane, now: now, isNews: true)
    case .edit(let edit):
      batches.forget(transition.serial)
      blocked.remove(transition.lane)
      upstreams[head.upstream]?.connectionBackoff.remove(transition.lane)
      lanes[transition.lane]?.window[0] = edit.entry
      recount(from: head.upstream, to: edit.entry)
      settleHead(of: transition.lane, now: now, isNews: true)
    case .requeue:
      break
    }
  }

  private mutating func countAttempt(of transition: Transition, at place: Int = 0) {
    guard let attempt = transition.attempt else { return }
    lanes[transition.lane]?.window[place].attempts = attempt.number
  }

  private mutating func noteBackoff(
    of head: LineEntry, transition: Transition, until time: WallTime, now: Now
  ) {
    if transition.isAnswered {
      // A backoff that the upstream has asked for does not end because it can be reached.
      upstreams[head.upstream]?.connectionBackoff.remove(transition.lane)
      if upstreams[head.upstream]?.pace.heldUntil(at: now.monotonic) != nil {
        upstreams[head.upstream]?.askedBackoff.insert(transition.lane)
      }
      if transition.isUnclear {
        upstreams[head.upstream]?.unclearBackoff.insert(transition.lane)
      }
    } else if time > now.wall {
      upstreams[head.upstream]?.connectionBackoff.insert(transition.lane)
    }
  }

  /// Applies a durable change of an envelope that is not its lane's head.
  private mutating func recordedBehindHead(_ transition: Transition) {
    let place = lanes[transition.lane]?.place(of: transition.serial)
    // It had ended before, and was counted then.
    if transition.isMoot, place == nil { return }
    switch transition.change {
    case .end:
      batches.forget(transition.serial)
      if let place {
        lanes[transition.lane]?.window.remove(at: place)
        windowEntries -= 1
      } else {
        sweep?.ended.insert(transition.serial)
      }
      countOut(of: transition.lane, for: transition.upstream)
    case .edit(let edit):
      batches.forget(transition.serial)
      if let place { lanes[transition.lane]?.window[place] = edit.entry }
      recount(from: transition.upstream, to: edit.entry)
      if place == nil { leaveToNextSweep(transition.lane) }
    case .release:
      if let place {
        lanes[transition.lane]?.window[place].release()
      } else {
        leaveToNextSweep(transition.lane)
      }
    case .block, .retry:
      // It went in one request with its lane's head.
      if let place {
        countAttempt(of: transition, at: place)
        if case .block = transition.change {
          lanes[transition.lane]?.window[place].standing = .blocked
        }
      } else {
        leaveToNextSweep(transition.lane)
      }
    case .begin, .requeue:
      break
    }
  }

  /// Keeps the present sweep from filling a lane: its page may show an envelope of the lane as it
  /// was before it changed.
  mutating func leaveToNextSweep(_ lane: LaneNumber) {
    if let sweep { lanes[lane]?.fullInSweep = sweep.number }
  }

  /// Counts an envelope that waits for another upstream now.
  mutating func recount(from old: UpstreamNumber, to entry: LineEntry) {
    countWaiting(-1, for: old, of: entry.client)
    countWaiting(1, for: entry.upstream, of: entry.client)
  }

  /// Notes that a change of an envelope sets out for the disk.
  ///
  /// - Returns: false if another one is on its way.
  mutating func noteChanging(_ entry: LineEntry) -> Bool {
    guard changing[entry.serial] == nil else { return false }
    changing[entry.serial] = entry.client
    return true
  }

  /// Ends a waiting envelope whose deadline has passed, wherever in its lane it stands.
  ///
  /// An envelope that is being attempted, or whose outcome is on its way to the disk, is left
  /// alone. So is one that has left its lane since the line was read.
  package mutating func expire(_ entry: LineEntry, now: Now) {
    guard !isReserved(entry), !unwritableEnds.contains(entry.serial) else { return }
    guard entry.standing != .parked else { return expireParked(entry, now: now) }
    guard let head = lanes[entry.lane]?.head, entry.expiresAt <= now.wall,
      inFlight[entry.serial] == nil
    else { return }
    if head.serial == entry.serial {
      let phase = lanes[entry.lane]?.phase
      guard phase != .recording, phase != .unwritable else { return }
      end(head, as: .expired, reason: Self.expiredReason(of: head), now: now)
      return
    }
    guard lanes[entry.lane]?.mayHold(entry.serial) == true, noteChanging(entry) else { return }
    actions.append(
      .record(
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          change: .end(.expired, reason: Self.expiredReason(of: entry)), at: now.wall,
          epoch: epoch(of: entry.client))))
  }

  /// The number of changes of envelopes behind a head that are on their way to the disk.
  ///
  /// While there are any, a page of the line may still show the former state.
  package var changingCount: Int { changing.count }
}
