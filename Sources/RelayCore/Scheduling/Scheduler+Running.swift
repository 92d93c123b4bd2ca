// The scheduler's view for runs: why a lane stands, if it does.

extension Scheduler {
  /// An upstream's state, for a run.
  package enum UpstreamStanding: Sendable, Equatable {
    /// It may be tried. Or it is not configured, which its lanes' phase says.
    case reachable
    /// It is unreachable, and so many probes in a row have failed since it became so.
    case unreachable(failedProbes: Int)
  }

  /// A lane's state, for a run.
  package struct RunView: Sendable {
    /// Its phase; nil if nothing waits in it.
    ///
    /// A head that the store is about to replace, or to cancel with everything else of its client,
    /// counts as ``Lane/Phase/recording``: it cannot be released just then, and the run looks again
    /// afterwards.
    package var phase: Lane.Phase?
    /// Its first envelope; nil if nothing waits, or it is not in memory yet.
    package var head: LineEntry?
    /// Whether the lane, its client or its head's upstream is paused.
    package var isPaused = false
    /// The state of its head's upstream.
    package var upstream = UpstreamStanding.reachable
  }

  /// The state of a lane.
  package func runView(of number: LaneNumber) -> RunView {
    guard let lane = lanes[number] else { return RunView() }
    var view = RunView(phase: lane.phase, head: lane.head)
    view.isPaused = isPaused(lane: number, of: lane.client)
    if let head = lane.head, isReserved(head) { view.phase = .recording }
    if let upstream = lane.head?.upstream {
      view.isPaused = view.isPaused || isPaused(.upstream(upstream))
      view.upstream = standing(of: upstream)
    }
    return view
  }

  /// Notes that a lane may have another head, or that its head may stand still now or be released
  /// again.
  ///
  /// Noted only while there are runs, so that it costs nothing otherwise.
  mutating func noteHeadChange(of number: LaneNumber) {
    if notesTurns { turned.insert(number) }
  }

  /// The lanes noted since the last call.
  ///
  /// - Parameter isWatched: Whether further lanes are to be noted.
  mutating func takeTurned(isWatched: Bool) -> Set<LaneNumber> {
    notesTurns = isWatched
    guard !turned.isEmpty else { return [] }
    defer { turned = [] }
    return turned
  }

  /// The state of an upstream.
  package func standing(of upstream: UpstreamNumber) -> UpstreamStanding {
    guard isConfigured(upstream), let probes = upstreams[upstream]?.reachability.failedProbes else {
      return .reachable
    }
    return .unreachable(failedProbes: probes)
  }
}
