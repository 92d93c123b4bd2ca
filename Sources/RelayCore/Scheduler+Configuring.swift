// Upstreams that are configured anew while envelopes wait and attempts are under way.

extension Scheduler {
  /// Whether anything may be sent to an upstream.
  func isConfigured(_ upstream: UpstreamNumber) -> Bool {
    upstreams[upstream]?.isConfigured == true
  }

  /// Goes by another configuration of the upstreams from now on.
  ///
  /// What waits for one that is not among them stands, as it would after a restart, and goes on
  /// once that is configured again. What is under way ends by itself, and as its upstream's policy
  /// then says.
  package mutating func configure(upstreams policies: [UpstreamNumber: UpstreamPolicy], now: Now) {
    for (number, policy) in policies { configure(number, policy, now: now) }
    for number in upstreams.keys where policies[number] == nil {
      upstreams[number]?.isConfigured = false
      upstreams[number]?.ready = FairQueue()
    }
    for number in lanes.keys.sorted() { resettleByUpstream(number, now: now) }
    for number in policies.keys.sorted() { fillSlots(of: number, now: now) }
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
    upstreams[number]?.reachability.go(
      by: policy.reachability, concurrencyMax: policy.concurrencyMax)
  }

  /// Sets a lane by its head again, if whether that one's upstream is configured is what decides.
  private mutating func resettleByUpstream(_ number: LaneNumber, now: Now) {
    guard let upstream = lanes[number]?.head?.upstream else { return }
    switch lanes[number]?.phase {
    case .ready where !isConfigured(upstream): settleHead(of: number, now: now)
    case .unconfigured where isConfigured(upstream): settleHead(of: number, now: now)
    default: break
    }
  }
}
