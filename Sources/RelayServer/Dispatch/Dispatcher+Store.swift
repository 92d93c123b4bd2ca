import RelayCore

// What the store tells, on its own thread, after each commit and in the order of the commits.
extension Dispatcher: StoreObserver {
  /// What is accepted for these stands still.
  package func startedPaused(_ targets: [PauseTarget]) {
    apply { state, now in
      for target in targets { state.scheduler.setPaused(true, target, now: now) }
      state.runs.lookAtAll(in: &state.scheduler, now: now)
    }
  }

  /// Keeps the account of what waits of whom.
  package func useChanged(
    _ changes: [ClientNumber: WaitingUse], names: [(ClientNumber, String)]
  ) {
    quotas.change(changes, names: names)
  }

  /// Has the numbers of clients looked up anew.
  package func forgotClients() { quotas.forgotClients() }

  /// Takes in what was accepted; free slots are filled at once.
  package func accepted(_ envelopes: [AcceptedEnvelope]) -> [Int] {
    meter.count(
      .accepted, envelopes.count { $0.movedFrom == nil }, at: clock().monotonic)
    for envelope in envelopes {
      if let old = envelope.movedFrom { waiters.move(old, to: envelope.entry.serial) }
    }
    gaps.note(envelopes)
    tell(envelopes)
    tracer.accepted(envelopes)
    if let deadline = envelopes.lazy.map(\.entry.expiresAt).min() { deadlines.note(deadline) }
    let places = apply { state, now in
      envelopes.map { envelope in
        if envelope.movedFrom != nil {
          return state.scheduler.placed(envelope.entry, now: now)
        }
        let lane = lanes.isEmpty ? nil : envelope.draft?.lane
        let order = lane.map { lanes.rules(ofLane: $0).order } ?? .strict
        let place = state.scheduler.accepted(envelope.entry, order: order, now: now)
        // Before any of it can be attempted.
        if let deliverable = envelope.deliverable,
          state.contents.wants(deliverable.content, position: place)
        {
          state.contents.insert(deliverable)
        }
        return place
      }
    }
    history.count(envelopes)
    return places
  }

  /// Lets lanes go on, and tells those who wait.
  package func recorded(_ transitions: [Transition]) {
    // What came to nothing is no news of the envelope but to whoever asked for it.
    let made = transitions.lazy.filter { !$0.isMoot }
    tell(made)
    // Before anything that follows from them can begin.
    tracer.recorded(transitions)
    apply { state, now in
      for transition in transitions {
        if case .edit(let edit) = transition.change {
          _ = state.contents.take(transition.serial)
          deadlines.note(edit.entry.expiresAt)
        }
        if case .requeue(let entry) = transition.change {
          deadlines.note(entry.expiresAt)
          if entry.standing == .parked { gaps.noteAgain(entry) }
        }
        state.recorded(transition, now: now)
      }
      endTurns(transitions)
    }
    waiters.settle(made.filter(\.change.settles).map(\.serial))
    count(made)
    metrics.count(transitions)
    history.count(transitions)
  }

  /// Says so in the log, once.
  package func goesOnWithout(_ damage: StoreDamage) {
    let parts = StoreDamage.Part.allCases.filter(damage.leftOut.contains).map(\.rawValue)
    log.error(
      "the store is damaged, and goes on without a part of it",
      ("leftOut", .text(parts.joined(separator: ", "))), ("error", .text(damage.last ?? "")))
  }

  /// Says so in the log: what is to be done has to be done before the relay ends.
  package func displaced(_ error: StoreError?) {
    if let error {
      log.error(
        "the store's files are not in their places: nothing is acknowledged any more",
        ("error", .text(error.description)))
    } else {
      log.warning("the store's files are back in their places")
    }
  }

  /// Lets go of what changes were to free that could not be written, and tells those who asked.
  package func unwritten(_ transitions: [Transition]) {
    apply { state, now in
      for transition in transitions { state.unwritten(transition, now: now) }
      turns.ended(transitions.lazy.map(\.serial))
      changes.settle(transitions.lazy.map(\.serial), as: .unwritten)
    }
    stories.tell(
      transitions.map { transition in
        let change = transition.isEvent ? EventEntry(transition).kind.rawValue : "attempt"
        return EnvelopeLog.Line(
          .serial(transition.serial), .error,
          "the store is damaged, and a change of an envelope could not be written",
          ("change", .text(change)))
      })
  }

  /// Ends the turns of those whose changes these are, and tells them.
  ///
  /// Called under the lock: once the scheduler takes the next command for one of these envelopes,
  /// it would be that one's turn that ended.
  private func endTurns(_ transitions: [Transition]) {
    turns.ended(transitions.lazy.map(\.serial))
    changes.settle(transitions.lazy.filter(\.isMoot).map(\.serial), as: .moot)
    changes.settle(transitions.lazy.filter { !$0.isMoot }.map(\.serial))
  }

  private func count(_ transitions: some Sequence<Transition>) {
    var delivered = 0
    var failed = 0
    for transition in transitions {
      switch transition.change {
      case .end(.delivered, _): delivered += 1
      case .end(.failed, _): failed += 1
      case .end, .begin, .retry, .block, .release, .edit, .requeue: break
      }
    }
    let now = clock().monotonic
    meter.count(.delivered, delivered, at: now)
    meter.count(.failed, failed, at: now)
  }
}

extension Transition.Change {
  /// Whether those who wait for the envelope have something to see.
  var settles: Bool {
    switch self {
    case .end, .block: true
    case .begin, .retry, .release, .edit, .requeue: false
    }
  }
}
