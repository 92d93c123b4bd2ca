import RelayCore

extension AcceptanceRules {
  /// The fields whose meaning depends on an envelope's other terms, or on its lane's.
  enum TermFields {
    /// In an envelope in JSON.
    case json
    /// On a relayed request.
    case relayed

    var sequence: String { self == .json ? "/sequence" : "Waystation-Sequence" }
    var key: String { self == .json ? "/key" : "Idempotency-Key" }
    var notBefore: String { self == .json ? "/notBefore" : "Waystation-Not-Before" }
    var notBeforeIn: String { self == .json ? "/notBeforeIn" : "Waystation-Not-Before-In" }
    var expiresAt: String { self == .json ? "/expiresAt" : "Waystation-Expires-At" }
    var expiresIn: String { self == .json ? "/expiresIn" : "Waystation-Expires-In" }
    var references: String { self == .json ? "/references" : "Waystation-References" }
  }

  /// Holds an envelope to what is configured for its lane.
  ///
  /// - Parameters:
  ///   - arrival: When it came.
  ///   - times: The spans that its sender gave: the lane's own counts from when it was made, too.
  /// - Throws: `invalid-field` if it says what the lane's order leaves no meaning to, or if its
  ///   deadline passes before it may be attempted.
  func holdToLane(
    _ draft: inout EnvelopeDraft, from arrival: ArrivalTime, made times: RelativeTimes = .init(),
    _ fields: TermFields
  ) throws(Problem) {
    let rules = lanes.rules(ofLane: draft.lane)
    draft.expiresAt = rules.deadline(
      draft.expiresAt, countingFrom: arrival.deadlineStart, age: times.age ?? 0)
    try Self.checkTimes(
      notBefore: draft.notBefore, expiresAt: draft.expiresAt,
      field: times.notBeforeIn == nil ? fields.notBefore : fields.notBeforeIn)
    if rules.isEvidence { try holdToEvidence(draft, fields) }
    guard rules.order == .latest else { return }
    if draft.sequence != nil {
      throw .notInLatestLane(draft.lane, "sequence numbers", field: fields.sequence)
    }
    if draft.references { try checkReferences(inLane: draft.lane, fields) }
  }

  /// Refuses an envelope that would expire before it may be attempted.
  ///
  /// - Parameter field: How whoever asks for these times writes what is to be corrected.
  static func checkTimes(
    notBefore: WallTime?, expiresAt: WallTime, field: String
  ) throws(Problem) {
    guard let notBefore, notBefore >= expiresAt else { return }
    throw .neverDue(notBefore: notBefore, expiresAt: expiresAt, field: field)
  }

  /// Refuses references in a lane where nothing waits for what came before it.
  func checkReferences(inLane lane: String, _ fields: TermFields = .json) throws(Problem) {
    guard lanes.rules(ofLane: lane).order == .latest else { return }
    throw .notInLatestLane(lane, "references to earlier answers", field: fields.references)
  }

  /// The deadline of a waiting envelope for which somebody asks another: no later than its lane's
  /// rules have it, unless it has a later one already, since it was requeued.
  func deadline(_ asked: WallTime, of record: EnvelopeRecord) -> WallTime {
    let rules = lanes.rules(ofLane: record.draft.lane)
    let bound = rules.deadline(asked, countingFrom: record.entry.acceptedAt)
    return min(asked, max(bound, record.entry.expiresAt))
  }
}

extension Problem {
  /// The earliest time for an attempt would not come before the deadline.
  fileprivate static func neverDue(
    notBefore: WallTime, expiresAt: WallTime, field: String
  ) -> Problem {
    .invalidField(
      field,
      "notBefore is \(RFC3339.format(notBefore)), and expiresAt, given or by the configuration,"
        + " \(RFC3339.format(expiresAt)): the envelope would expire before it may be attempted.",
      fix: "Give an earlier notBefore, or a later expiresAt, as far as a ttlSeconds lets it.")
  }

  /// Terms that need the order of acceptance make no sense where the newest goes first.
  fileprivate static func notInLatestLane(_ lane: String, _ what: String, field: String) -> Problem
  {
    .invalidField(
      field, "The lane \(lane.quoted) delivers the newest first, so it takes no \(what).",
      fix: "Leave that out, or name a lane whose order is strict.")
  }
}
