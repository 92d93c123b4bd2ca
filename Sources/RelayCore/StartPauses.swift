/// Who stands still from the moment when it is first known, until somebody resumes it.
///
/// A store applies this once for each name, in the transaction in which the name becomes known, and
/// tells its observer before anything of that name can be attempted. What somebody resumes stays
/// so.
package struct StartPauses: Hashable, Sendable {
  /// Upstreams, by name; their names are configured, so one counts from when it is first here.
  package var upstreams: Set<String>
  /// What is configured for clients.
  package var clients: ClientRulesTable
  /// What is configured for lanes.
  package var lanes: LaneRulesTable

  /// Puts them together; what is left out starts unpaused.
  package init(
    upstreams: Set<String> = [], clients: ClientRulesTable = ClientRulesTable(),
    lanes: LaneRulesTable = LaneRulesTable()
  ) {
    self.upstreams = upstreams
    self.clients = clients
    self.lanes = lanes
  }

  /// Whether one of this name starts paused.
  package func includes(_ name: PauseName) -> Bool {
    switch name {
    case .upstream(let upstream): upstreams.contains(upstream)
    case .client(let client): clients.rules(ofClient: client).startPaused
    case .lane(let lane): lanes.rules(ofLane: lane.lane).startPaused
    }
  }
}
