import RelayCore

extension AcceptanceRules {
  /// Holds an envelope to what an evidence lane asks for: what its receipts cover is all that
  /// decides what the upstream gets.
  ///
  /// - Throws: `missing-field` or `invalid-field`.
  func holdToEvidence(_ draft: EnvelopeDraft, _ fields: TermFields) throws(Problem) {
    guard !draft.isVoid, lanes.rules(ofLane: draft.lane).isEvidence else { return }
    guard draft.sequence != nil else { throw .evidenceWithout("sequence", fields.sequence, draft) }
    guard draft.key != nil else { throw .evidenceWithout("key", fields.key, draft) }
    if draft.references {
      throw .inEvidenceLane(
        "references are filled in with what came later", fields.references, draft.lane,
        fix: "Post it with the value itself, once that is known.")
    }
  }
}

extension EnvelopePatch {
  /// What a patch may change in an evidence lane: orders to the relay, which no receipt covers.
  private static let orders: Set<String> = [
    "expiresAt", "expiresIn", "hold", "notBefore", "notBeforeIn", "onFailure", "tag",
  ]

  /// Refuses to change what a receipt covers.
  func holdToEvidence(_ lane: String, _ rules: AcceptanceRules) throws(Problem) {
    guard rules.lanes.rules(ofLane: lane).isEvidence,
      let name = changedNames.first(where: { !Self.orders.contains($0) })
    else { return }
    throw .inEvidenceLane(
      "what came in it stays as it is", "/\(name)", lane,
      fix: "Cancel the envelope, and have its sender post the right one under the next number.")
  }
}

extension Problem {
  fileprivate static func evidenceWithout(
    _ name: String, _ field: String, _ draft: EnvelopeDraft
  ) -> Problem {
    .missingField(
      field, "The lane \(draft.lane.quoted) is an evidence lane, and the envelope has no \(name).",
      fix: "Give each envelope of the lane its sequence and a key.")
  }

  fileprivate static func inEvidenceLane(
    _ reason: String, _ field: String, _ lane: String, fix: String
  ) -> Problem {
    .invalidField(field, "The lane \(lane.quoted) is an evidence lane: \(reason).", fix: fix)
  }
}
