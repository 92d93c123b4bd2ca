import Glibc
import RelayCore

// What the store tells and asks, on its own thread, in the order of the commits.
extension Dispatcher: StoreObserver {
  /// Takes in what a transaction did, under one lock; free slots are filled at once.
  package func committed(_ commit: Commit, answer: (CommitPositions) -> Void) {
    let now = clock()
    for listener in commitListeners.beforeScheduling { listener.committed(commit, at: now) }
    apply(at: now) { state, now in
      take(commit, into: &state, now: now)
    } answer: {
      answer($0)
    }
    for listener in commitListeners.afterScheduling { listener.committed(commit, at: now) }
  }

  private func take(_ commit: Commit, into state: inout State, now: Now) -> CommitPositions {
    if !commit.startedPaused.isEmpty {
      for target in commit.startedPaused { state.scheduler.setPaused(true, target, now: now) }
      state.runs.lookAtAll(in: &state.scheduler, now: now)
    }
    var positions = CommitPositions()
    for change in commit.changes {
      switch change {
      case .changed(let transitions): take(changed: transitions, into: &state, now: now)
      case .unwritten(let transitions): take(unwritten: transitions, into: &state, now: now)
      case .coalesced(let envelopes):
        for envelope in envelopes {
          positions.coalesced.append(state.take(envelope, now: now))
        }
      case .accepted(let envelopes):
        positions.accepted.reserveCapacity(envelopes.count)
        for envelope in envelopes {
          positions.accepted.append(take(envelope, into: &state, now: now))
        }
      case .cleared(let backlog): state.take(backlog, now: now)
      case .endsChanged: break
      }
    }
    return positions
  }

  /// - Returns: Its position.
  private func take(_ envelope: AcceptedEnvelope, into state: inout State, now: Now) -> Int {
    if envelope.movedFrom != nil { return state.scheduler.placed(envelope.entry, now: now) }
    let lane = lanes.isEmpty ? nil : envelope.draft?.lane
    let rules = lane.map { lanes.rules(ofLane: $0) } ?? LaneRules()
    let place = state.scheduler.accepted(envelope.entry, order: rules.order, now: now)
    // Before any of it can be attempted. The store says what an evidence lane's ledger has of it.
    if !rules.isEvidence, let deliverable = envelope.deliverable,
      state.contents.wants(deliverable.content, position: place)
    {
      state.contents.insert(deliverable)
    }
    return place
  }

  private func take(changed transitions: [Transition], into state: inout State, now: Now) {
    for transition in transitions {
      if case .edit = transition.change { _ = state.contents.take(transition.serial) }
      state.recorded(transition, now: now)
    }
    // Under the lock: once the scheduler takes the next command for one of these envelopes, it
    // would be that one's turn that ended.
    turns.ended(transitions.lazy.map(\.serial))
    changes.settle(transitions.lazy.filter(\.isMoot).map(\.serial), as: .moot)
    changes.settle(transitions.lazy.filter { !$0.isMoot }.map(\.serial))
  }

  /// Takes back changes that could not be written, and tells those who asked for them.
  private func take(unwritten transitions: [Transition], into state: inout State, now: Now) {
    for transition in transitions { state.unwritten(transition, now: now) }
    turns.ended(transitions.lazy.map(\.serial))
    changes.settle(transitions.lazy.map(\.serial), as: .unwritten)
  }

  // MARK: - Within a transaction

  /// Keeps an envelope from being attempted while the store replaces it.
  package func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool {
    apply { state, _ in state.scheduler.reserve(serial, in: lane) }
  }

  /// Lets nothing of a client begin while the store cancels it.
  package func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    apply { state, _ in state.scheduler.reserveAll(of: client) }
  }

  /// Lets go of what was not changed after all.
  package func released(_ reservations: Reservations) {
    apply { state, now in
      for (serial, lane) in reservations.envelopes.sorted(by: { $0.key < $1.key }) {
        state.scheduler.released(serial, in: lane, now: now)
      }
      for client in reservations.clients.sorted() {
        state.scheduler.clearingFailed(of: client, now: now)
      }
    }
    // A deadline may have passed meanwhile, and was left alone.
    deadlines.note(clock().wall)
  }

  // MARK: - The files

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

  /// Says why, and ends the process as one that failed, so that whoever watches it starts it again.
  package func syncFailed(_ error: StoreError) -> Never {
    log.error(
      "the store's log cannot be synced: the relay ends, and its next start finds what is stored",
      ("error", .text(error.description)))
    _exit(EXIT_FAILURE)
  }
}

extension Dispatcher.State {
  /// A waiting envelope has got a later post's content.
  ///
  /// - Returns: Its position, if it is known.
  fileprivate mutating func take(_ envelope: CoalescedEnvelope, now: Now) -> Int? {
    _ = contents.take(envelope.entry.serial)
    if !envelope.draft.references { contents.insert(envelope.deliverable) }
    return scheduler.coalesced(envelope, now: now)
  }

  /// A client's whole backlog was cancelled.
  fileprivate mutating func take(_ backlog: ClearedBacklog, now: Now) {
    for item in backlog.items { _ = contents.take(item.serial) }
    scheduler.cleared(backlog, now: now)
    runs.cleared(backlog, in: &scheduler, now: now)
  }
}

extension CoalescedEnvelope {
  /// The parts of it that an attempt needs.
  fileprivate var deliverable: DeliverableEnvelope {
    DeliverableEnvelope(
      serial: entry.serial, id: id, client: draft.client, key: draft.key, content: draft.content,
      references: draft.references, revision: revision)
  }
}
