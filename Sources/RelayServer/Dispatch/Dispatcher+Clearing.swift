import RelayCore

// A client's whole backlog, cancelled: what the store asks and tells, on its own thread.
extension Dispatcher {
  /// Lets nothing of a client begin while the store cancels it.
  package func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    apply { state, _ in state.scheduler.reserveAll(of: client) }
  }

  /// Takes in what was cancelled, and tells those who wait for it.
  package func cleared(_ backlog: ClearedBacklog) {
    apply { state, now in
      for item in backlog.items { _ = state.contents.take(item.serial) }
      state.scheduler.cleared(backlog, now: now)
      state.tellRuns(of: backlog, now: now)
    }
    waiters.settle(backlog.items.lazy.map(\.serial))
  }

  /// Lets go of what was not cancelled after all.
  package func clearingFailed(of clients: Set<ClientNumber>) {
    apply { state, now in
      for client in clients.sorted() { state.scheduler.clearingFailed(of: client, now: now) }
    }
    deadlines.note(clock().wall)
  }
}

extension Dispatcher.State {
  /// Runs of the client learn that what they wait for is cancelled.
  fileprivate mutating func tellRuns(of backlog: ClearedBacklog, now: Now) {
    guard !runs.isEmpty else { return }
    for item in backlog.items {
      let transition = Transition(
        serial: item.serial, lane: item.lane, upstream: item.upstream,
        change: .end(.cancelled, reason: SteerEnvelope.cancelledReason), at: now.wall, epoch: 1)
      runs.recorded(transition, of: backlog.client, in: &scheduler, now: now)
    }
  }
}
