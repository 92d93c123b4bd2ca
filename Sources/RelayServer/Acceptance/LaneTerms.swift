import RelayCore

extension AcceptanceRules {
  /// Holds an envelope to what is configured for its lane.
  ///
  /// - Parameter field: Where its sequence number stands, for the problem.
  /// - Throws: `invalid-field` if the lane's order leaves no meaning to a sequence number.
  func holdToLane(
    _ draft: inout EnvelopeDraft, at now: WallTime, sequenceField field: String
  ) throws(Problem) {
    guard !lanes.isEmpty else { return }
    let rules = lanes.rules(ofLane: draft.lane)
    draft.expiresAt = rules.deadline(draft.expiresAt, acceptedAt: now)
    guard draft.sequence != nil, rules.order == .latest else { return }
    throw .invalidField(
      field,
      "The lane \(Problem.shown(draft.lane)) delivers the newest first, so it takes no sequence"
        + " numbers.",
      fix: "Leave the sequence number out, or name a lane whose order is strict.")
  }
}
