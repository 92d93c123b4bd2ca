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
    if let upstream = lane.head?.upstream {
      view.isPaused = view.isPaused || isPaused(.upstream(upstream))
      view.upstream = standing(of: upstream)
    }
    return view
  }

  /// Whether an upstream may be tried.
  package func standing(of upstream: UpstreamNumber) -> UpstreamStanding {
    guard let probes = upstreams[upstream]?.reachability.failedProbes else { return .reachable }
    return .unreachable(failedProbes: probes)
  }
}
