/// The target of a pause.
package enum PauseTarget: Hashable, Sendable {
  /// An upstream: nothing is sent to it.
  case upstream(UpstreamNumber)
  /// A client: none of its lanes moves.
  case client(ClientNumber)
  /// A lane.
  case lane(LaneNumber)
}

/// The target of a pause by its names.
package enum PauseName: Hashable, Sendable {
  /// A configured upstream's name.
  case upstream(String)
  /// A client's name.
  case client(String)
  /// A lane's name, and its client's.
  case lane(LaneName)
}
