// What a run goes by: why a lane stands, if it does.

extension Scheduler {
  /// Whether an upstream may be tried.
  package enum UpstreamStanding: Sendable, Equatable {
    /// It may, or it is not configured, which its lanes' phase says.
    case reachable
    /// It is given up for the moment, and so many probes in a row have failed since.
    case unreachable(failedProbes: Int)
  }

  /// A lane, as a run sees it.
  package struct RunView: Sendable {
    /// What it is doing; nil if nothing waits in it.
    ///
    /// A head that the store is about to replace, or to cancel with all else of its client, counts
    /// as ``Lane/Phase/recording``: it cannot be let go just then, and what comes of that is looked
    /// at.
    package var phase: Lane.Phase?
    /// Its first envelope; nil if nothing waits, or it is not in memory yet.
    package var head: LineEntry?
    /// Whether the lane, its client or its head's upstream is paused.
    package var isPaused = false
    /// How its head's upstream is.
    package var upstream = UpstreamStanding.reachable
  }

  /// How a lane stands.
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

  /// A lane may have another head, or its head may stand still now, or may be let go again.
  ///
  /// Noted only while there are runs, so that it costs nothing else.
  mutating func noteTurn(of number: LaneNumber) {
    if notesTurns { turned.insert(number) }
  }

  /// The lanes of which something was noted since this was called last.
  ///
  /// - Parameter isWatched: Whether more is to be noted from now on.
  mutating func takeTurned(isWatched: Bool) -> Set<LaneNumber> {
    notesTurns = isWatched
    guard !turned.isEmpty else { return [] }
    defer { turned = [] }
    return turned
  }

  /// Whether an upstream may be tried.
  package func standing(of upstream: UpstreamNumber) -> UpstreamStanding {
    guard isConfigured(upstream), let probes = upstreams[upstream]?.reachability.failedProbes else {
      return .reachable
    }
    return .unreachable(failedProbes: probes)
  }
}
