/// The upstreams, clients and lanes that are paused from the moment when they first become known,
/// until somebody resumes them.
///
/// A store applies this once for each name, in the transaction in which the name becomes known, and
/// tells of it with that commit, so that nothing of that name is attempted before. A name that
/// somebody has resumed stays resumed.
package struct StartPauses: Hashable, Sendable {
  /// Upstreams, by name.
  ///
  /// An upstream becomes known when it is first configured.
  package var upstreams: Set<String>
  /// The configuration of clients.
  package var clients: ClientRulesTable
  /// The configuration of lanes.
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

  /// Whether an upstream, client or lane of this name starts paused.
  package func includes(_ name: PauseName) -> Bool {
    switch name {
    case .upstream(let upstream): upstreams.contains(upstream)
    case .client(let client): clients.rules(ofClient: client).startPaused
    case .lane(let lane): lanes.rules(ofLane: lane.lane).startPaused
    }
  }
}
