/// What came of the posts of one transaction, and what else it put in line.
package struct AppendReceipt {
  private struct Parked {
    let result: Int
    let entry: LineEntry
    let number: Int64
  }

  /// Positions are places in ``accepted``, until they are known.
  private var results: [AppendResult] = []
  private var accepted: [AcceptedEnvelope] = []
  private var coalesced: [CoalescedEnvelope] = []
  private var parked: [Parked] = []
  /// The lanes in which something that was parked may be put in line, as yet or by the next
  /// transaction.
  package private(set) var flowing: Set<LaneNumber> = []

  /// Starts with some answers, or with lanes in which an earlier transaction has left something.
  package init(results: [AppendResult] = [], flowing: Set<LaneNumber> = []) {
    self.results = results
    self.flowing = flowing
  }

  /// The number of posts answered so far.
  package var answerCount: Int { results.count }

  /// Takes the answers to an atomic batch of which nothing is written.
  package mutating func note(refusal: [AppendResult]) { results += refusal }

  /// Takes what was decided on a post.
  package mutating func note(_ plan: PostPlan, of draft: EnvelopeDraft) {
    switch plan {
    case .answer(let result): results.append(result)
    case .void(let plan):
      if plan.numbering.mayFlow { flowing.insert(plan.lane.number) }
      results.append(.void)
    case .insert(let plan):
      if let numbering = plan.numbering {
        if numbering.mayFlow { flowing.insert(plan.entry.lane) }
        if numbering.isParked {
          parked.append(
            Parked(result: results.count, entry: plan.entry, number: numbering.number))
        }
      }
      results.append(plan.result(position: accepted.count))
      accepted.append(AcceptedEnvelope(entry: plan.entry, id: plan.id, draft: draft))
    case .replace(let plan):
      note(plan.told(of: draft))
      results.append(plan.result)
    }
  }

  /// One that was accepted or replaced by this very transaction is told as it stands now.
  private mutating func note(_ envelope: CoalescedEnvelope) {
    let serial = envelope.entry.serial
    if let place = accepted.lastIndex(where: { $0.entry.serial == serial }) {
      accepted[place] = AcceptedEnvelope(
        entry: envelope.entry, id: envelope.id, draft: envelope.draft,
        revision: envelope.revision)
    } else if let place = coalesced.firstIndex(where: { $0.entry.serial == serial }) {
      var envelope = envelope
      envelope.formerUpstream = coalesced[place].formerUpstream
      envelope.keepsBackoff = coalesced[place].keepsBackoff && envelope.keepsBackoff
      envelope.postCount += coalesced[place].postCount
      coalesced[place] = envelope
    } else {
      coalesced.append(envelope)
    }
  }

  /// Takes what was parked in a lane and has been put in line.
  ///
  /// - Parameter hasMore: Whether the next transaction goes on with the lane.
  package mutating func place(
    _ envelopes: [AcceptedEnvelope], of lane: LaneNumber, hasMore: Bool
  ) {
    accepted += envelopes
    if hasMore { flowing.insert(lane) } else { flowing.remove(lane) }
  }

  /// The lanes in which something is parked that this transaction has taken.
  package var parkedLanes: Set<LaneNumber> { Set(parked.map(\.entry.lane)) }

  /// Says of what is parked what it waits for, or where it is if it has moved already.
  package mutating func nameMissing(_ missing: (LaneNumber) -> MissingNumbers) {
    for envelope in parked {
      guard case .parked(let id, _) = results[envelope.result] else { continue }
      if let place = accepted.firstIndex(where: { $0.movedFrom == envelope.entry.serial }) {
        results[envelope.result] = .accepted(
          id: id, state: accepted[place].entry.standing.state, position: place)
      } else {
        results[envelope.result] = .parked(
          id: id, missing: missing(envelope.entry.lane).before(envelope.number))
      }
    }
  }

  /// Adds to the commit what has been accepted and replaced.
  package func tell(in commit: inout Commit) {
    if !coalesced.isEmpty { commit.changes.append(.coalesced(coalesced)) }
    if !accepted.isEmpty { commit.changes.append(.accepted(accepted)) }
  }

  /// The results, with their positions in their lanes.
  package func answers(at positions: CommitPositions) -> [AppendResult] {
    var places: [EnvelopeID: Int?] = [:]
    for (envelope, place) in zip(coalesced, positions.coalesced) { places[envelope.id] = place }
    for (envelope, place) in zip(accepted, positions.accepted) { places[envelope.id] = place }
    return results.map { result in
      switch result {
      case .accepted(let id, let state, let place):
        .accepted(id: id, state: state, position: positions.accepted[place])
      case .coalesced(let id, let state, _):
        .coalesced(id: id, state: state, position: places[id] ?? nil)
      default: result
      }
    }
  }
}
