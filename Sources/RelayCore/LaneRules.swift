/// In which order a lane's envelopes take their turns.
package enum LaneOrder: String, CaseIterable, Sendable {
  /// First in, first out.
  case strict
  /// The newest first: live data need not queue behind a backlog.
  case latest

  /// Where an envelope of this number stands in a lane of this order: the smaller goes first.
  func rank(of serial: Serial) -> Rank { self == .strict ? serial : -serial }
}

/// A place in the order of one lane; see ``LaneOrder/rank(of:)``.
///
/// Within a lane no two envelopes have the same, and how far apart two are says nothing.
typealias Rank = Int64

/// What is configured for a lane; what stands here are the defaults.
package struct LaneRules: Hashable, Sendable {
  /// In which order its envelopes take their turns.
  package var order = LaneOrder.strict
  /// How long after acceptance its envelopes expire at the latest, whatever they say themselves, in
  /// milliseconds; nil for no such bound.
  package var ttlMs: Int64?
  /// How long what arrived ahead of a gap waits for the missing numbers before it goes on without
  /// them, in milliseconds; nil for as long as it takes.
  ///
  /// A ``LaneOrder/latest`` lane has no gaps: it takes no sequence numbers.
  package var gapTimeoutMs: Int64?
  /// Whether it is paused from the moment it is first known.
  package var startPaused = false

  /// The defaults.
  package init() {}

  /// The deadline of an envelope that asks for one, where the lane's own counts from a time.
  package func deadline(_ asked: WallTime, countingFrom start: WallTime) -> WallTime {
    ttlMs.map { min(asked, start.deadline(afterMs: $0)) } ?? asked
  }
}

/// What is configured for a client; what stands here are the defaults.
package struct ClientRules: Hashable, Sendable {
  /// Whether it is paused from the moment it is first known.
  package var startPaused = false
  /// What it may have waiting, and how often it may ask.
  package var quota = QuotaSettings()

  /// The defaults.
  package init() {}
}

/// The rules of all lanes, by the lanes' names, whichever client they belong to.
package typealias LaneRulesTable = NamePatterns<LaneRules>

/// The rules of all clients.
package typealias ClientRulesTable = NamePatterns<ClientRules>

extension NamePatterns<LaneRules> {
  /// The rules of a lane; the defaults if nothing is configured for it.
  package func rules(ofLane name: String) -> LaneRules { self[name] ?? LaneRules() }
}

extension NamePatterns<ClientRules> {
  /// The rules of a client; the defaults if nothing is configured for it.
  package func rules(ofClient name: String) -> ClientRules { self[name] ?? ClientRules() }
}
