/// What of the settings decides, without what touches the system.
struct CoreSettings: Sendable {
  var destination: Destination
  var lanes: [Lane: LaneSettings]
  var collections: [String: Set<Tag>]
  var limits: Limits
  var sending: Sending
  /// Whether the app has conditions of its own, which each item is held to before it is sealed.
  var asksReadiness: Bool
  /// The folder of large bodies.
  var bodies: String
  /// When an item is safe.
  var durability = Durability.full

  /// The settings of a lane.
  func lane(_ name: String) -> LaneSettings { lanes[Lane(name)] ?? LaneSettings() }

  /// Whether items go to a relay.
  var isRelay: Bool {
    if case .relay = destination { true } else { false }
  }

  /// The device's name at the relay.
  var client: String {
    if case .relay(_, let client) = destination { client } else { "" }
  }

  /// The tags of a collection.
  func tags(of collection: String) -> Set<String> {
    Set((collections[collection] ?? []).map(\.name))
  }
}

extension Duration {
  /// Whole milliseconds, rounded down.
  ///
  /// Longer times count as some 35,000 years, so that sums of them with a time of day are numbers.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let most: Int64 = 1 << 40
    guard seconds < most else { return most * 1000 }
    guard seconds > -most else { return -most * 1000 }
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}
