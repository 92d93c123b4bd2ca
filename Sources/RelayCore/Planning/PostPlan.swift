/// What is to be done with one post.
package enum PostPlan: Sendable {
  /// Nothing is written: this is the answer.
  case answer(AppendResult)
  /// A new envelope is written.
  case insert(InsertPlan)
  /// A sequence number counts as come from now on.
  case void(VoidPlan)
  /// The content of an envelope that waits is replaced.
  indirect case replace(ReplacePlan)
}

/// The rows of a new envelope, besides its content: that stands in the draft.
package struct InsertPlan: Equatable, Sendable {
  /// Its place in the line.
  package var entry: LineEntry
  /// The relay's name for it.
  package var id: EnvelopeID
  /// Whether its client becomes known by it.
  package var isNewClient = false
  /// Whether its lane becomes known by it.
  package var isNewLane = false
  /// What changes in the lane's sequence numbers; nil if it has none.
  package var numbering: NumberPlan?

  /// The draft as it is stored: a number that nobody waits for any more is left away.
  package func stored(_ draft: EnvelopeDraft) -> EnvelopeDraft {
    numbering == nil && draft.sequence != nil ? draft.unnumbered : draft
  }

  /// The answer.
  ///
  /// Where it says that the envelope is parked, the numbers that it waits for are still to be
  /// named, at the end of the transaction.
  ///
  /// - Parameter position: The position to answer with.
  package func result(position: Int) -> AppendResult {
    if entry.standing == .parked { return .parked(id: id, missing: .none) }
    return .accepted(id: id, state: entry.standing.state, position: position)
  }
}

/// What a number that is declared void changes.
package struct VoidPlan: Equatable, Sendable {
  /// The lane, as it was before.
  package var lane: KnownLane
  /// Whether its client becomes known by it.
  package var isNewClient = false
  /// Whether its lane becomes known by it.
  package var isNewLane = false
  /// What changes in the lane's sequence numbers.
  package var numbering: NumberPlan
}

/// What the number of a new envelope changes in its lane.
package struct NumberPlan: Equatable, Sendable {
  /// The envelope's number.
  package var number: Int64
  /// The greatest number that the lane has taken, this one included.
  package var highest: Int64
  /// Whether the envelope waits, or what came before it has yet to be put in line.
  package var isParked = false
  /// The gap that the number lay in, which goes.
  package var closed: SequenceRange?
  /// What stays of ``closed`` below the number.
  package var lowerGap: SequenceRange?
  /// What stays of ``closed`` above the number, or a new gap below it.
  package var upperGap: SequenceRange?
  /// The number up to which everything stands in line from now on; nil if that stays as it is.
  package var placedThrough: Int64?
  /// Whether envelopes that are parked behind it may be put in line.
  package var mayFlow = false
  /// Whether the number is given up: what is parked behind it passes it by.
  package var isVoid = false
  /// Whether all that is missing below the number is given up.
  package var skipsBelow = false
}

/// The changes to an envelope that waits when a later post replaces its content.
package struct ReplacePlan: Sendable {
  /// The envelope as it was.
  package var former: WaitingPost
  /// The new content and terms.
  package var edit: EnvelopeEdit
  /// The number of replacements, this one included.
  package var revision: Int64
  /// Whether the envelope keeps its wait after a failed attempt.
  package var keepsBackoff: Bool
  /// The revision up to which the keys of former contents are forgotten; nil for none.
  package var forgottenKeys: Int64?

  /// What is told of it.
  package func told(of draft: EnvelopeDraft) -> CoalescedEnvelope {
    CoalescedEnvelope(
      entry: edit.entry, id: former.id, draft: draft, revision: revision,
      formerUpstream: former.entry.upstream, keepsBackoff: keepsBackoff)
  }

  /// The answer, without a position.
  package var result: AppendResult {
    .coalesced(id: former.id, state: edit.entry.standing.state, position: nil)
  }
}
