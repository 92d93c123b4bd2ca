// Configuring upstreams anew while envelopes wait and attempts are under way.

extension Scheduler {
  /// Whether requests may be sent to an upstream.
  func isConfigured(_ upstream: UpstreamNumber) -> Bool {
    upstreams[upstream]?.isConfigured == true
  }

  /// Changes the configuration of the upstreams.
  ///
  /// Envelopes for an upstream that is not configured any more stand, as after a restart, and go on
  /// once it is configured again. Running attempts end by themselves, and their outcome follows
  /// their upstream's policy at that time.
  package mutating func configure(upstreams policies: [UpstreamNumber: UpstreamPolicy], now: Now) {
    for (number, policy) in policies { configure(number, policy, now: now) }
    for number in upstreams.keys where policies[number] == nil {
      upstreams[number]?.isConfigured = false
      upstreams[number]?.ready = FairQueue()
    }
    for number in lanes.keys.sorted() { resettleByUpstream(number, now: now) }
    for number in policies.keys.sorted() { fillSlots(of: number, now: now) }
  }

  /// Has all that waits for an upstream tried at once, as far as the upstream is why it waits,
  /// since it is sought elsewhere, or in another way.
  ///
  /// What is under way ends where it was begun. Its lanes wait for that, and nothing else does: it
  /// takes no slot, and is no probe.
  package mutating func seekAnew(_ number: UpstreamNumber, now: Now) {
    setAside(number, now: now)
    upstreams[number]?.batchCeiling = BatchCeiling()
    if let lanes = upstreams[number]?.unclearBackoff {
      upstreams[number]?.unclearBackoff = []
      endBackoff(of: lanes, at: number, now: now)
    }
    _ = probe(number, now: now)
    fillSlots(of: number, now: now)
  }

  /// Sets those attempts at an upstream aside that were begun by other settings.
  private mutating func setAside(_ number: UpstreamNumber, now: Now) {
    // What is only announced will be sent by the new ones.
    var announced = 0
    for serial in inFlight.keys {
      guard let flight = inFlight[serial], flight.upstream == number else { continue }
      if flight.stage == .announced { announced += 1 } else { inFlight[serial]?.isOutdated = true }
    }
    let probe = upstreams[number]?.probe
    let keptProbe = probe.flatMap { inFlight[$0]?.stage == .announced ? $0 : nil }
    upstreams.update(number) { upstream in
      upstream.outdated = upstream.inFlight - announced
      upstream.hasAnswered = false
      upstream.refusesIdentity = false
      upstream.lastRefusal = nil
      upstream.probe = keptProbe
      upstream.reachability.soughtAnew(isProbed: upstream.probe != nil, at: now.monotonic)
    }
  }

  private mutating func configure(
    _ number: UpstreamNumber, _ policy: UpstreamPolicy, now: Now
  ) {
    guard upstreams[number] != nil else {
      upstreams[number] = UpstreamLine(policy: policy, since: now.wall)
      return
    }
    upstreams[number]?.isConfigured = true
    upstreams[number]?.policy = policy
    upstreams[number]?.reachability.update(
      to: policy.reachability, concurrencyMax: policy.concurrencyMax)
    upstreams[number]?.pace.update(limit: policy.rate, at: now.monotonic)
  }

  /// Settles a lane again, if its state depends on whether its head's upstream is configured.
  private mutating func resettleByUpstream(_ number: LaneNumber, now: Now) {
    guard let upstream = lanes[number]?.head?.upstream else { return }
    switch lanes[number]?.phase {
    case .ready where !isConfigured(upstream): settleHead(of: number, now: now)
    case .unconfigured where isConfigured(upstream): settleHead(of: number, now: now)
    default: break
    }
  }
}
