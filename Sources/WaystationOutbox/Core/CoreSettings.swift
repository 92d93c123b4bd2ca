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
  /// Whole milliseconds, rounded down; the largest number if there are more.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
    guard !isTooLarge else { return seconds > 0 ? .max : .min }
    return product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue
  }
}
