// What the scheduler can say of itself, for `/status` and for devices that ask.

extension Scheduler {
  /// One upstream, for showing.
  package struct UpstreamView: Sendable {
    /// Whether its lanes may try.
    package var isReachable: Bool
    /// Whether somebody has paused it.
    package var isPaused: Bool
    /// Since when it has been as it is.
    package var since: WallTime
    /// How many attempts are under way.
    package var inFlight: Int
    /// How many envelopes wait for it, those in flight included.
    package var waiting: Int
    /// When the oldest of its lanes' heads was accepted; nil if none waits.
    package var oldestWaitingAt: WallTime?
    /// The last failure at connection level since it was last reachable, in words.
    package var lastError: String?
    /// When the next probe goes out; nil if none is due.
    package var nextProbeAt: MonotonicTime?
    /// How many attempts may be under way at once now, and when it has ramped up.
    package var concurrency: (now: Int, max: Int)
  }

  /// The lane and the upstream of an attempt that is under way; nil if none is.
  package func flight(of serial: Serial) -> (lane: LaneNumber, upstream: UpstreamNumber)? {
    inFlight[serial].map { ($0.lane, $0.upstream) }
  }

  /// The envelope whose turn comes after the head's, as far as it is in memory.
  package func next(behindHeadOf lane: LaneNumber) -> Serial? {
    guard let window = lanes[lane]?.window, window.count > 1 else { return nil }
    return window[1].serial
  }

  /// All configured upstreams.
  ///
  /// - Parameter survey: What the lanes have shown, by ``goOn(with:countMax:)``.
  package func upstreamViews(_ survey: LaneSurvey) -> [UpstreamNumber: UpstreamView] {
    var views: [UpstreamNumber: UpstreamView] = [:]
    for (number, upstream) in upstreams where upstream.isConfigured {
      views[number] = UpstreamView(
        isReachable: upstream.reachability.isReachable,
        isPaused: paused.contains(.upstream(number)), since: upstream.reachability.since,
        inFlight: upstream.inFlight, waiting: waitingFor[number] ?? 0,
        oldestWaitingAt: survey.heads[number]?.oldestAcceptedAt,
        lastError: upstream.lastError, nextProbeAt: upstream.reachability.nextProbeAt,
        concurrency: (upstream.reachability.window, upstream.policy.concurrencyMax))
    }
    return views
  }

  /// Lanes whose heads go to an upstream that is not configured, for showing.
  package struct UnconfiguredView: Sendable {
    /// How many envelopes stand in those lanes.
    package var waiting: Int
    /// When the oldest of their heads was accepted.
    package var oldestWaitingAt: WallTime
  }

  /// All upstreams that are not configured and that something waits for.
  ///
  /// - Parameter survey: What the lanes have shown, by ``goOn(with:countMax:)``.
  package func unconfiguredViews(_ survey: LaneSurvey) -> [UpstreamNumber: UnconfiguredView] {
    // Not by the lane's phase: it may also be held, or wait for its time.
    survey.heads.filter { !isConfigured($0.key) }.mapValues { heads in
      UnconfiguredView(waiting: heads.waiting, oldestWaitingAt: heads.oldestAcceptedAt)
    }
  }

  /// The lane, if anything waits in it.
  package func lane(_ number: LaneNumber) -> Lane? { lanes[number] }

  /// The place of a waiting envelope in its lane, from 1; nil if it stands too far back to be known
  /// without reading the line.
  package func position(of serial: Serial, in lane: LaneNumber) -> Int? {
    lanes[lane]?.place(of: serial).map { $0 + 1 }
  }

  /// Whether an attempt of this envelope is under way.
  package func isInFlight(_ serial: Serial) -> Bool { inFlight[serial] != nil }

  /// The envelopes of which an attempt is under way.
  package var inFlightSerials: Set<Serial> { Set(inFlight.keys) }

  /// How many attempts are under way.
  package var inFlightCount: Int { inFlight.count }

  /// How many envelopes wait in all.
  package var waitingCount: Int { waitingTotal }

  /// How many envelopes wait for each configured upstream, those in flight included.
  package var waitingByUpstream: [UpstreamNumber: Int] {
    Dictionary(uniqueKeysWithValues: upstreams.keys.map { ($0, waitingFor[$0] ?? 0) })
  }

  /// How many envelopes of one client wait.
  package func waiting(of client: ClientNumber) -> Int { clientsWaiting[client] ?? 0 }

  /// Lanes that stand until someone resolves them, or until the relay starts anew, with their
  /// heads; at most `countMax`.
  package func blockedLanes(countMax: Int) -> [(lane: LaneNumber, head: LineEntry)] {
    blocked.prefix(countMax).compactMap { number in
      lanes[number]?.head.map { (number, $0) }
    }
  }

  /// How many lanes stand so.
  package var blockedLaneCount: Int { blocked.count }
}
