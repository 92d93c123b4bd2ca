// Changes that could not be written, since the store is damaged there. Nothing that they would have
// freed is kept: slots, counts and turns go on. Only the envelope's own lane stands.
extension Scheduler {
  /// The most envelopes remembered whose end could not be written; one takes about 16 bytes.
  static let unwritableEndsMax = 65_536

  /// Acts on a change that could not be written, and never will be as it is.
  ///
  /// A change that somebody asked for has simply failed, and the envelope is unchanged. But a head
  /// whose attempt has ended, or whose deadline has passed, cannot go on as before, so it is
  /// quarantined. If not even that can be written, its lane stands until the relay restarts. An
  /// envelope behind a head, or a parked one, waits as before.
  package mutating func unwritten(_ transition: Transition, now: Now) {
    guard isCurrent(transition) else { return }
    changing[transition.serial] = nil
    changingParked.remove(transition.serial)
    noteUnwritableEnd(transition)
    if case .requeue = transition.change {
      latestRequeues.remove(transition.serial)
      return
    }
    if case .begin = transition.change, let flight = endFlight(transition.serial, now: now) {
      giveUpProbe(transition.serial, of: flight.upstream, now: now)
      quarantineUnwritten(transition, now: now)
      return fillSlots(of: flight.upstream, now: now)
    }
    quarantineUnwritten(transition, now: now)
  }

  private mutating func quarantineUnwritten(_ transition: Transition, now: Now) {
    guard let head = lanes[transition.lane]?.head, head.serial == transition.serial else { return }
    if transition.isQuarantine {
      lanes[transition.lane]?.unwritable = head.serial
      settleHead(of: transition.lane, now: now)
    } else if lanes[transition.lane]?.unwritable == head.serial
      || transition.wasAskedFor(of: head)
    {
      settleHead(of: transition.lane, now: now)
    } else {
      quarantine(head, reason: transition.reasonUnwritten, now: now)
    }
  }

  private mutating func noteUnwritableEnd(_ transition: Transition) {
    guard case .end = transition.change, unwritableEnds.count < Self.unwritableEndsMax else {
      return
    }
    unwritableEnds.insert(transition.serial)
  }

  /// Notes that a change of an envelope was written: so perhaps its other changes can be written,
  /// too.
  mutating func noteWritable(by transition: Transition) {
    if lanes[transition.lane]?.unwritable == transition.serial {
      lanes[transition.lane]?.unwritable = nil
    }
    guard !unwritableEnds.isEmpty else { return }
    switch transition.change {
    case .end, .release, .edit, .requeue: unwritableEnds.remove(transition.serial)
    // Its place in the line can be written, as its quarantine shows; its end cannot.
    case .begin, .retry, .block: break
    }
  }
}

extension Transition {
  /// Whether somebody asked for it, and neither an attempt nor time has led to it.
  fileprivate func wasAskedFor(of head: LineEntry) -> Bool {
    switch change {
    case .release, .edit, .requeue, .end(.cancelled, _): true
    case .end(.failed, _): head.standing == .blocked
    case .end, .begin, .retry, .block: false
    }
  }

  /// The reason for quarantining the envelope, since this could not be written.
  fileprivate var reasonUnwritten: String {
    let what =
      switch change {
      case .end(.delivered, _): "that the upstream has taken it"
      case .end(.expired, _): "that its deadline has passed"
      default: "what became of it"
      }
    return "quarantined: the store is damaged and could not write \(what)"
  }
}
