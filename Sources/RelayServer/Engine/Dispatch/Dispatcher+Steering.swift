import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// A command's verdict, once what it asked for is durable.
package enum SteeringResult: Sendable, Equatable {
  /// It is done, and on disk.
  case done
  /// It was not done, for this reason; never ``CommandVerdict/recording``.
  case refused(CommandVerdict)
  /// It came to nothing, and the turn ended with it: the envelope had moved, or ended, before.
  case moot
  /// It was not done, and the turn ended with it: the store is damaged where it would stand.
  case unwritten
  /// It is on its way to the disk still: the store cannot write just now. It will be done.
  case delayed
}

// How endpoints change what waits.
extension Dispatcher {
  /// The longest time that a command waits for the disk, in milliseconds.
  static let steeringPatienceMs: Int64 = 10_000

  /// Waits until no other command changes an envelope; see ``giveBack(_:)``.
  ///
  /// - Returns: nil if the other one takes longer than a command waits.
  func takeTurn(of id: EnvelopeID) async -> SteeringTurns.Turn? {
    await turns.take(store.serial(in: id), on: loop, withinMs: Self.steeringPatienceMs)
  }

  /// Lets the next command have its turn, at the latest once this one's change is durable.
  func giveBack(_ turn: SteeringTurns.Turn) { turns.giveBack(turn) }

  /// Has a command carried out, and waits until that is durable.
  ///
  /// - Parameters:
  ///   - entry: The envelope's place as the store showed it since the turn was taken.
  ///   - turn: The envelope's turn, which ends with the change.
  ///   - onItsWay: Called once the change has set out for the disk, behind those before it.
  func steer(
    _ command: SteeringCommand, _ entry: LineEntry, in turn: SteeringTurns.Turn,
    onItsWay: () -> Void = {}
  ) async -> SteeringResult {
    // All under the lock, so that an earlier change of the same envelope, which is being recorded
    // just now, is not taken for this one.
    let (verdict, waiter) = apply { state, now -> (CommandVerdict, SettlementWaiters.Waiter?) in
      guard let waiter = changes.register(entry.serial) else { return (.busy, nil) }
      let verdict = state.scheduler.obey(command, of: entry, now: now)
      if verdict == .recording { turns.handOver(turn, at: entry.serial) }
      return (verdict, waiter)
    }
    guard let waiter else { return .refused(verdict) }
    defer { changes.remove(waiter) }
    guard verdict == .recording else { return .refused(verdict) }
    onItsWay()
    let isDone = await waiter.wait(on: loop, forMs: Self.steeringPatienceMs)
    guard isDone else { return .delayed }
    switch waiter.news {
    case .made: return .done
    case .moot: return .moot
    case .unwritten: return .unwritten
    }
  }

  /// The content of an envelope that does not wait has changed: what may be remembered of it from
  /// before is not to be sent once it waits again.
  func forgetContent(of serial: Serial) {
    apply { state, _ in _ = state.contents.take(serial) }
  }

  /// Begins or ends a pause, durably; see ``EnvelopeStore``.
  package func setPaused(
    _ isPaused: Bool, _ name: PauseName
  ) async throws(StoreError) -> QuotaRefusal? {
    try await store.setPaused(isPaused, name) { target in
      self.apply { state, now in
        state.scheduler.setPaused(isPaused, target, now: now)
        state.runs.lookAtAll(in: &state.scheduler, now: now)
      }
    }
  }

  /// Whether somebody has paused this very target.
  package func isPaused(_ target: PauseTarget) -> Bool {
    state.withLock { $0.scheduler.isPaused(target) }
  }

  /// Tries an upstream now: by a probe where it is unreachable, and else with the lanes that wait
  /// for another attempt at it.
  ///
  /// - Returns: Whether it is reachable, and then the number of these lanes.
  package func probe(_ upstream: UpstreamNumber) -> (isReachable: Bool, retriedLanes: Int) {
    askAnewForToken(of: upstream)
    return apply { state, now in
      let isProbed = state.scheduler.probe(upstream, now: now)
      return (!isProbed, state.scheduler.endWaits(at: upstream, now: now))
    }
  }

  /// The number of envelopes that wait for an upstream.
  func waiting(for upstream: UpstreamNumber) -> Int {
    state.withLock { $0.scheduler.waiting(for: upstream) }
  }

  /// Notes that an upstream has answered a trial.
  func found(_ upstream: UpstreamNumber) {
    askAnewForToken(of: upstream)
    apply { state, now in state.scheduler.found(upstream, now: now) }
  }

  /// A probe that somebody asks for shows what is so now, and not what the last request for a token
  /// has shown.
  private func askAnewForToken(of upstream: UpstreamNumber) {
    guard let target = target(of: upstream) else { return }
    state.withLock { $0.forwarder }?.askAnewForToken(of: target)
  }
}
