// Pauses that somebody has asked for. Attempts that are running when a pause begins are finished;
// none begins during it. A pause costs no envelope its attempts, but counts towards its deadline.
extension Scheduler {
  /// Restores the pauses that were in force when the relay stopped; called before
  /// ``restored(now:wasClockSetBack:setsOff:)``.
  package mutating func restorePauses(_ targets: Set<PauseTarget>) { paused = targets }

  /// Begins or ends a pause; no effect if it is so already.
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

  /// Whether somebody has paused this target itself.
  package func isPaused(_ target: PauseTarget) -> Bool { paused.contains(target) }

  /// Whether a lane is paused, itself or by its client.
  func isPaused(lane number: LaneNumber, of client: ClientNumber) -> Bool {
    !paused.isEmpty && (paused.contains(.lane(number)) || paused.contains(.client(client)))
  }

  /// Settles a lane again, if its state depends on pauses.
  ///
  /// A head that is under way, held, blocked or waiting is settled when that is over.
  private mutating func resettle(_ number: LaneNumber, now: Now) {
    switch lanes[number]?.phase {
    case .ready, .paused: settleHead(of: number, now: now)
    default: break
    }
  }

  /// Probes an unreachable upstream now, with the lane whose turn it is, or ends the wait that a
  /// reachable one has asked for.
  ///
  /// - Returns: Whether the upstream is unreachable or has asked for a wait, so that there was
  ///   something to probe.
  package mutating func probe(_ number: UpstreamNumber, now: Now) -> Bool {
    guard isConfigured(number), let upstream = upstreams[number],
      !upstream.reachability.isReachable || upstream.pace.heldUntil(at: now.monotonic) != nil
    else { return false }
    upstreams[number]?.reachability.probeNow(at: now.monotonic)
    upstreams[number]?.pace.endWait()
    // The lanes that were told of the wait have it as a wait of their own, too.
    upstreams[number]?.askedBackoff = []
    endBackoff(of: upstream.askedBackoff, at: number, now: now)
    fillSlots(of: number, now: now)
    return true
  }

  /// Has all lanes tried in turn now that wait for another attempt at a reachable upstream, since
  /// somebody wants to know at once whether it takes them.
  ///
  /// - Returns: The number of these lanes.
  package mutating func endWaits(at number: UpstreamNumber, now: Now) -> Int {
    guard isConfigured(number), upstreams[number]?.reachability.isReachable == true else {
      return 0
    }
    var waiting: NumberSet<LaneNumber> = []
    for (key, lane) in lanes {
      guard case .waiting = lane.phase, let head = lane.head, head.upstream == number,
        head.attempts > 0 || lane.backoffs[number] != nil
      else { continue }
      waiting.insert(key)
    }
    endBackoff(of: waiting, at: number, now: now)
    fillSlots(of: number, now: now)
    return waiting.count
  }

  /// Notes that an upstream has answered something that is no envelope.
  ///
  /// Where something waits for it, that is tried now.
  package mutating func found(_ number: UpstreamNumber, now: Now) {
    guard isConfigured(number), let upstream = upstreams[number],
      !upstream.reachability.isReachable, !probe(number, now: now) || waitingFor[number] ?? 0 == 0
    else { return }
    guard upstreams[number]?.reachability.answered(now: now) == .becameReachable else { return }
    upstreams[number]?.lastError = nil
    actions.append(.reachabilityChanged(number, isReachable: true, reason: nil))
  }
}
