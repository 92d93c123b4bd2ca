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
  /// What verifies receipts.
  var verifier: (any ReceiptVerifier)?
  /// What signs items.
  var signer: (any HeadSigner)?

  /// The settings of a lane.
  func lane(_ name: String) -> LaneSettings { lanes[Lane(name)] ?? LaneSettings() }

  /// Whether items go to a relay.
  var isRelay: Bool {
    if case .relay = destination { true } else { false }
  }

  /// The device's name at the relay.
  var client: String {
    if case .relay(_, let client, _) = destination { client } else { "" }
  }

  /// The relay's keys that are trusted from the beginning.
  var pins: [KeyID] {
    if case .relay(_, _, let pins) = destination { pins } else { [] }
  }

  /// Whether the relay is asked for receipts of a lane: only one with numbers has any.
  func wantsReceipts(of lane: String) -> Bool {
    guard verifier != nil, isRelay else { return false }
    let settings = self.lane(lane)
    return settings.order == .strict && (settings.custody != .accepted || settings.evidence)
  }

  /// Whether an item of a lane is over only once the relay has signed for that.
  func wantsEvidence(of lane: String) -> Bool {
    self.lane(lane).evidence && wantsReceipts(of: lane)
  }

  /// Whether the items of a lane go signed.
  func wantsSignature(of lane: String) -> Bool {
    signer != nil && verifier != nil && mayBeSigned(lane)
  }

  /// Whether the items of a lane would go signed, were there a signer: only numbers can follow on
  /// each other.
  func mayBeSigned(_ lane: String) -> Bool {
    let settings = self.lane(lane)
    return isRelay && settings.signed && settings.order == .strict
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
