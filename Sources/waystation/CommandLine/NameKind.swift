/// The names that a running relay knows, and that a shell can complete by asking it.
enum NameKind: String, CaseIterable {
  case upstreams, clients
  /// Lanes as `CLIENT/LANE`.
  case lanes
  /// The names of lanes alone.
  case laneNames = "lane-names"
}
