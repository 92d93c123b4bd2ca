// The scheduler's view of itself, for `/status` and for devices that ask.

extension Scheduler {
  /// The state of one upstream, for display.
  package struct UpstreamView: Sendable {
    /// Whether its lanes may try.
    package var isReachable: Bool
    /// Whether somebody has paused it.
    package var isPaused: Bool
    /// The time from which it has been reachable or unreachable without a change.
    package var since: WallTime
    /// The number of running attempts.
    package var inFlight: Int
    /// The number of waiting envelopes, those in flight included.
    package var waiting: Int
    /// The time at which the oldest of its lanes' heads was accepted; nil if none waits.
    package var oldestWaitingAt: WallTime?
    /// What went wrong last, in words: the last answer, if it took nothing, or the last failure at
    /// connection level since the upstream was last reachable.
    package var lastError: String?
    /// The kind of the last failure at connection level; nil if the upstream has answered since.
    package var lastFailure: ConnectionFailure?
    /// The time of the next probe; nil if none is due.
    package var nextProbeAt: MonotonicTime?
    /// The most attempts at once: now, and once the upstream has ramped up.
    package var concurrency: (now: Int, max: Int)
    /// The end of a wait that it has asked for; nil if there is none.
    package var heldUntil: MonotonicTime?
    /// The answer by which it asked for it, in words; nil if there is no such wait.
    package var heldReason: String?
    /// The most requests a second that it is sent now; nil if nothing limits them.
    package var perSecond: Double?
    /// Whether it was learned from refusals, and is not the configured one.
    package var isPerSecondLearned: Bool

    /// The time of the next probe; nil if none goes out then.
    ///
    /// A probe is an envelope. While none waits, or none may go, the next one that may is it.
    package func probeAt(after now: MonotonicTime) -> MonotonicTime? {
      guard !isReachable, !isPaused, waiting > 0 else { return nil }
      return nextProbeAt.flatMap { $0 > now ? $0 : nil }
    }
  }

  /// The lane and the upstream of a running attempt; nil if there is none.
  package func flight(of serial: Serial) -> (lane: LaneNumber, upstream: UpstreamNumber)? {
    inFlight[serial].map { ($0.lane, $0.upstream) }
  }

  /// The envelope behind the head, if it is in memory.
  package func next(behindHeadOf lane: LaneNumber) -> Serial? {
    guard let window = lanes[lane]?.window, window.count > 1 else { return nil }
    return window[1].serial
  }

  /// The envelopes of the same lanes behind some that go together, as many of each as go now, if
  /// they are in memory.
  package func next(behind members: [LineEntry]) -> [Serial] {
    var next: [Serial] = []
    var index = 0
    while index < members.count {
      let lane = members[index].lane
      var count = 0
      while index < members.count, members[index].lane == lane {
        index += 1
        count += 1
      }
      guard let window = lanes[lane]?.window else { continue }
      for place in min(count, window.count)..<min(2 * count, window.count) {
        next.append(window[place].serial)
      }
    }
    return next
  }

  /// The views of all configured upstreams.
  ///
  /// - Parameter survey: A complete survey of the lanes; see ``advance(_:countMax:)``.
  package func upstreamViews(_ survey: LaneSurvey, at now: MonotonicTime) -> [UpstreamNumber:
    UpstreamView]
  {
    var views: [UpstreamNumber: UpstreamView] = [:]
    for (number, upstream) in upstreams where upstream.isConfigured {
      let heldUntil = upstream.pace.heldUntil(at: now)
      views[number] = UpstreamView(
        isReachable: upstream.reachability.isReachable,
        isPaused: paused.contains(.upstream(number)), since: upstream.reachability.since,
        inFlight: upstream.inFlight, waiting: waitingFor[number] ?? 0,
        oldestWaitingAt: survey.heads[number]?.oldestAcceptedAt,
        lastError: upstream.shownError, lastFailure: upstream.lastFailure,
        nextProbeAt: upstream.reachability.nextProbeAt,
        concurrency: (upstream.reachability.window, upstream.policy.concurrencyMax),
        heldUntil: heldUntil, heldReason: heldUntil == nil ? nil : upstream.heldReason,
        perSecond: upstream.pace.perSecond(at: now),
        isPerSecondLearned: upstream.pace.isLearned(at: now))
    }
    return views
  }

  /// What waits for one unconfigured upstream, for display.
  package struct UnconfiguredView: Sendable {
    /// The number of envelopes that wait for it, wherever they stand in their lanes.
    package var waiting: Int
    /// The time at which the oldest of its lanes' heads was accepted; nil if all that waits for it
    /// stands behind something else.
    package var oldestWaitingAt: WallTime?
  }

  /// The views of all unconfigured upstreams that something waits for.
  ///
  /// - Parameter survey: A complete survey of the lanes; see ``advance(_:countMax:)``.
  package func unconfiguredViews(_ survey: LaneSurvey) -> [UpstreamNumber: UnconfiguredView] {
    var views: [UpstreamNumber: UnconfiguredView] = [:]
    for (number, waiting) in waitingFor where waiting > 0 && !isConfigured(number) {
      views[number] = UnconfiguredView(
        waiting: waiting, oldestWaitingAt: survey.heads[number]?.oldestAcceptedAt)
    }
    return views
  }

  /// A lane; nil if nothing waits in it.
  package func lane(_ number: LaneNumber) -> Lane? { lanes[number] }

  /// The position of a waiting envelope in its lane, from 1; nil if it is too far back to be known
  /// without reading the line.
  package func position(of serial: Serial, in lane: LaneNumber) -> Int? {
    lanes[lane]?.place(of: serial).map { $0 + 1 }
  }

  /// Whether an attempt of this envelope is running.
  package func isInFlight(_ serial: Serial) -> Bool { inFlight[serial] != nil }

  /// The envelopes that are being attempted.
  package var inFlightSerials: Set<Serial> { Set(inFlight.keys) }

  /// The number of running attempts.
  package var inFlightCount: Int { inFlight.count }

  /// The number of waiting envelopes.
  package var waitingCount: Int { waitingTotal }

  /// The number of waiting envelopes for each upstream that is or was configured, those in flight
  /// included.
  package var waitingByUpstream: [UpstreamNumber: Int] {
    Dictionary(uniqueKeysWithValues: upstreams.keys.map { ($0, waitingFor[$0] ?? 0) })
  }

  /// The number of envelopes that wait for one upstream, those in flight included.
  package func waiting(for upstream: UpstreamNumber) -> Int { waitingFor[upstream] ?? 0 }

  /// The number of one client's waiting envelopes.
  package func waiting(of client: ClientNumber) -> Int { clientsWaiting[client] ?? 0 }

  /// Lanes that stand until someone resolves them, or until the relay restarts, with their heads;
  /// at most `countMax`.
  package func blockedLanes(countMax: Int) -> [(lane: LaneNumber, head: LineEntry)] {
    blocked.prefix(countMax).compactMap { number in
      lanes[number]?.head.map { (number, $0) }
    }
  }

  /// The head of a lane that stands so; nil if the lane does not.
  package func blockedHead(of lane: LaneNumber) -> LineEntry? {
    blocked.contains(lane) ? lanes[lane]?.head : nil
  }

  /// The number of such lanes.
  package var blockedLaneCount: Int { blocked.count }
}
