/// What somebody may bid stand still.
package enum PauseTarget: Hashable, Sendable {
  /// An upstream: nothing is sent to it.
  case upstream(UpstreamNumber)
  /// A client: none of its lanes moves.
  case client(ClientNumber)
  /// A lane.
  case lane(LaneNumber)
}

/// The same by name, as people say it.
package enum PauseName: Hashable, Sendable {
  /// A configured upstream's name.
  case upstream(String)
  /// A client's name.
  case client(String)
  /// A lane's name, and its client's.
  case lane(LaneName)
}

// Standing still because somebody wants it so. What is under way when a pause begins is finished;
// nothing more begins. Time that passes in a pause costs no envelope its attempts, but does count
// towards its deadline.
extension Scheduler {
  /// What was paused when the relay stopped is paused still; before ``restored(now:)``.
  package mutating func restorePauses(_ targets: Set<PauseTarget>) { paused = targets }

  /// Begins or ends a pause; doing so twice changes nothing.
  package mutating func setPaused(_ isPaused: Bool, _ target: PauseTarget, now: Now) {
    guard isPaused ? paused.insert(target).inserted : paused.remove(target) != nil else { return }
    switch target {
    case .upstream(let number): fillSlots(of: number, now: now)
    case .lane(let number): resettle(number, now: now)
    case .client(let client):
      for number in lanes.filter({ $0.value.client == client }).map(\.key).sorted() {
        resettle(number, now: now)
      }
    }
  }

  /// Whether somebody has paused this very target.
  package func isPaused(_ target: PauseTarget) -> Bool { paused.contains(target) }

  /// Whether a lane stands still, by its own pause or by its client's.
  func isPaused(lane number: LaneNumber, of client: ClientNumber) -> Bool {
    !paused.isEmpty && (paused.contains(.lane(number)) || paused.contains(.client(client)))
  }

  /// Sets a lane by its head again, if that is what decides.
  ///
  /// A head that is under way, held, blocked or waiting is looked at when that is over.
  private mutating func resettle(_ number: LaneNumber, now: Now) {
    switch lanes[number]?.phase {
    case .ready, .paused: settleHead(of: number, now: now)
    default: break
    }
  }

  /// Tries an unreachable upstream now, with the lane whose turn it is.
  ///
  /// - Returns: Whether the upstream is unreachable, so that there was something to try.
  package mutating func probe(_ number: UpstreamNumber, now: Now) -> Bool {
    guard isConfigured(number), upstreams[number]?.reachability.isReachable == false else {
      return false
    }
    upstreams[number]?.reachability.probeNow(at: now.monotonic)
    fillSlots(of: number, now: now)
    return true
  }
}
