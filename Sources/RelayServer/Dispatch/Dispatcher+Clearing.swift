import RelayCore

// A client's whole backlog, cancelled: what the store asks and tells, on its own thread.
extension Dispatcher {
  /// Lets nothing of a client begin while the store cancels it.
  package func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    apply { state, _ in state.scheduler.reserveAll(of: client) }
  }

  /// Takes in what was cancelled, and tells those who wait for it.
  package func cleared(_ backlog: ClearedBacklog) {
    tell(backlog)
    apply { state, now in
      for item in backlog.items { _ = state.contents.take(item.serial) }
      state.scheduler.cleared(backlog, now: now)
      state.runs.cleared(backlog, in: &state.scheduler, now: now)
    }
    waiters.settle(backlog.items.lazy.map(\.serial))
    metrics.count(backlog)
    history.count(backlog)
    tracer.cleared(backlog)
  }

  /// Lets go of what was not cancelled after all.
  package func clearingFailed(of clients: Set<ClientNumber>) {
    apply { state, now in
      for client in clients.sorted() { state.scheduler.clearingFailed(of: client, now: now) }
    }
    deadlines.note(clock().wall)
  }
}
