/// The order in which a lane's envelopes take their turns.
package enum LaneOrder: String, CaseIterable, Sendable {
  /// First in, first out.
  case strict
  /// The newest first: live data does not queue behind a backlog.
  case latest

  /// The rank of an envelope in a lane of this order: the smaller goes first.
  func rank(of serial: Serial) -> Rank { self == .strict ? serial : -serial }
}

/// An envelope's place in the order of one lane; see ``LaneOrder/rank(of:)``.
///
/// Within a lane all ranks differ; the distance between two means nothing.
typealias Rank = Int64

/// The configuration of a lane; the initial values are the defaults.
package struct LaneRules: Hashable, Sendable {
  /// The order in which its envelopes take their turns.
  package var order = LaneOrder.strict
  /// The longest time from acceptance until its envelopes expire, whatever their own deadline, in
  /// milliseconds; nil for no such limit.
  package var ttlMs: Int64?
  /// The time that envelopes ahead of a gap wait for the missing numbers before they go on without
  /// them, in milliseconds; nil for no limit.
  ///
  /// A ``LaneOrder/latest`` lane has no gaps: it takes no sequence numbers.
  package var gapTimeoutMs: Int64?
  /// Whether it is paused from the moment it is first known.
  package var startPaused = false
  /// Whether it is an evidence lane: all that comes in it is numbered and stays as it came, and a
  /// ledger says how each number ended.
  package var isEvidence = false

  /// The defaults.
  package init() {}

  /// The deadline of an envelope: the one it asks for, or the lane's own if that comes first,
  /// counted from `start`.
  package func deadline(
    _ asked: WallTime, countingFrom start: WallTime, age seconds: Int64 = 0
  ) -> WallTime {
    ttlMs.map { min(asked, start.deadline(afterMs: $0 - seconds * 1000)) } ?? asked
  }
}

/// The configuration of a client; the initial values are the defaults.
package struct ClientRules: Hashable, Sendable {
  /// Whether it is paused from the moment it is first known.
  package var startPaused = false
  /// The limits on its waiting envelopes and its requests.
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
