import EventLoop
import Forwarder
import RelayCore
import Synchronization

// How dispatching begins and ends.
extension Dispatcher {
  /// Takes up the line as it stands in the store; nothing is attempted before ``setOff()``.
  ///
  /// - Parameters:
  ///   - policies: What the scheduler goes by, for each configured upstream.
  ///   - targets: Where the forwarder sends, for each configured upstream.
  ///   - forwarder: What makes the attempts.
  ///   - latestTime: The latest time that the store knows of.
  /// - Returns: How many envelopes wait.
  func takeUpLine(
    policies: [UpstreamNumber: UpstreamPolicy], targets: [UpstreamNumber: UpstreamTarget],
    forwarder: Forwarder, seed: UInt64, latestTime: WallTime?
  ) async throws(StoreError) -> Int {
    self.targets.withLock { $0 = targets }
    let epoch = store.leases().first?.epoch ?? 1
    state.withLock { state in
      state.forwarder = forwarder
      let now = clock()
      state.scheduler = Scheduler(upstreams: policies, epoch: epoch, seed: seed, now: now)
    }
    let pauses = try await store.pauses()
    state.withLock { $0.scheduler.restorePauses(pauses) }
    let count = try await restoreLine()
    // Whoever asks, as soon as anybody can, is told how each lane stands.
    apply { state, now in
      state.scheduler.restored(
        now: now, wasClockSetBack: latestTime.map { $0 > now.wall } ?? false, setsOff: false)
    }
    // A log that cannot be read is told of to each listener that wants it.
    if let span = try? await store.eventLogSpan() { listeners.begin(at: span.end) }
    history.start { [weak self] in self?.waitingByUpstream ?? ([:], 0) }
    return count
  }

  /// Begins to attempt what waits.
  func setOff() {
    apply { state, now in state.scheduler.setOff(now: now) }
    gaps.start()
  }

  /// Sends everybody away who waits or listens, and finishes the attempts.
  func drain(graceMs: Int64) async {
    sendAway()
    await finishAttempts(graceMs: graceMs)
  }

  /// Sends everybody away who waits or listens.
  func sendAway() {
    waiters.close()
    listeners.close()
    gaps.stop()
    runsBegun.close()
    runsSettled.close()
  }

  /// Attempts nothing more, and waits until what is under way has ended, but no longer than the
  /// grace period; what is left then is called off, and stands in its lane as it stood.
  ///
  /// What is accepted meanwhile waits.
  func finishAttempts(graceMs: Int64) async {
    apply { state, _ in
      state.isStopped = true
      state.scheduler.stop()
    }
    let cutOff = loop.schedule(afterMs: graceMs) { self.callOff() }
    await idle()
    _ = cutOff.cancel()
  }

  /// Attempts under way are broken off, and reported as not finished.
  private func callOff() {
    let forwarder = apply { state, now in
      state.scheduler.cutOff(now: now)
      return state.forwarder
    }
    forwarder?.cancelAll()
  }

  /// Waits until no attempt is under way.
  private func idle() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state -> Bool in
        guard state.scheduler.inFlightCount > 0 else { return true }
        state.idleWaiters.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
  }
}
