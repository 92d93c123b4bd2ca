/// The rules of appending: what becomes of a post, by the facts that a store tells.
///
/// A store asks for one plan at a time and carries each out before it asks for the next, in its
/// tables or in the facts that it has gathered.
package enum AppendRules {
  /// The largest step back of the clock that counts as an adjustment, in milliseconds.
  package static let timeHeldMs: Int64 = 60_000

  /// Decides what becomes of a post.
  ///
  /// - Parameters:
  ///   - now: The time by the relay's clock.
  ///   - random: Random bits for the id.
  package static func plan(
    _ draft: EnvelopeDraft, now: WallTime, random: UInt64, facts: some AppendFacts
  ) throws(StoreError) -> PostPlan {
    switch try verdict(on: draft, facts: facts) {
    case .answer(let result):
      return .answer(result)
    case .take(let lane?, let gap) where draft.isVoid:
      return .void(try void(draft, in: lane, gap: gap, facts: facts))
    case .take(nil, _):
      var planned = NewNames()
      if let refusal = try NameRules.refusal(
        ofNew: LaneName(client: draft.client, lane: draft.lane), besides: &planned, facts: facts)
      {
        return .answer(.overQuota(refusal))
      }
      if draft.isVoid { return .void(try void(draft, in: nil, gap: nil, facts: facts)) }
      return .insert(
        try insertion(of: draft, in: nil, gap: nil, now: now, random: random, facts: facts))
    case .take(let lane?, let gap):
      if let name = draft.coalesce,
        let plan = try replacement(by: draft, name, in: lane, facts: facts)
      {
        return .replace(plan)
      }
      return .insert(
        try insertion(of: draft, in: lane, gap: gap, now: now, random: random, facts: facts))
    }
  }

  /// Decides whether all of an atomic batch can be taken, before anything of it is written.
  ///
  /// - Returns: nil if it can; else the answers.
  package static func refusal(
    ofAtomic drafts: [EnvelopeDraft], facts: some AppendFacts
  ) throws(StoreError) -> [AppendResult]? {
    var isRefused = false
    var batch = AtomicBatch()
    var results: [AppendResult] = []
    results.reserveCapacity(drafts.count)
    for draft in drafts {
      let result: AppendResult
      switch try verdict(on: draft, facts: facts) {
      case .answer(let answer): result = answer
      case .take(let lane, let gap):
        let lack: QuotaRefusal? =
          if lane == nil {
            try NameRules.refusal(
              ofNew: LaneName(client: draft.client, lane: draft.lane), besides: &batch.names,
              facts: facts)
          } else {
            nil
          }
        let refusal = try batch.refusal(
          of: draft, isNumbered: counts(draft.sequence, in: lane, gap: gap)
        ) { () throws(StoreError) in try placedWhole(in: lane, facts: facts) }
        result = refusal ?? lack.map { .overQuota($0) } ?? .leftOut
      }
      switch result {
      case .keyConflict, .sequenceConflict, .sequencePassed, .overQuota: isRefused = true
      case .accepted, .parked, .coalesced, .duplicate, .void, .forgotten, .leftOut: break
      }
      results.append(result)
    }
    return isRefused ? results : nil
  }

  // MARK: - Posts that came before

  /// What the key and the sequence number of a draft say of it.
  private enum Verdict {
    /// It is new. It goes into this lane if that is known already, and into this gap if its number
    /// is not above all others.
    case take(KnownLane?, gap: SequenceRange?)
    /// It has come before, or comes too late.
    case answer(AppendResult)
  }

  private static func verdict(
    on draft: EnvelopeDraft, facts: some AppendFacts
  ) throws(StoreError) -> Verdict {
    if let key = draft.key, let answer = try answer(to: draft, key, facts: facts) {
      return .answer(answer)
    }
    let lane = try facts.knownLane(LaneName(client: draft.client, lane: draft.lane))
    guard let number = draft.sequence, let lane, let highest = lane.lastSequence, number <= highest
    else { return .take(lane, gap: nil) }
    return try verdict(on: draft, number, in: lane, facts: facts)
  }

  /// The answer to a key that has come before; nil to one that is new.
  private static func answer(
    to draft: EnvelopeDraft, _ key: String, facts: some AppendFacts
  ) throws(StoreError) -> AppendResult? {
    if let client = try facts.knownClient(draft.client),
      let post = try facts.post(ofKey: key, of: client)
    {
      guard post.fingerprint == draft.fingerprint else { return .keyConflict(id: post.id) }
      return .duplicate(id: post.id, state: post.state)
    }
    guard let digest = try facts.rememberedDigest(ofKey: key, of: draft.client) else { return nil }
    return digest == RememberedKey.digest(of: draft.fingerprint)
      ? .forgotten : .keyConflict(id: nil)
  }

  /// The same for a number that is not above all others of its lane.
  private static func verdict(
    on draft: EnvelopeDraft, _ number: Int64, in lane: KnownLane, facts: some AppendFacts
  ) throws(StoreError) -> Verdict {
    switch try facts.holder(ofNumber: number, in: lane.number) {
    case .forgotten: return .answer(.forgotten)
    case .post(let post):
      guard !draft.isVoid, post.fingerprint == draft.fingerprint, post.key == draft.key else {
        return .answer(.sequenceConflict(id: post.id))
      }
      return .answer(.duplicate(id: post.id, state: post.state))
    case .nobody:
      guard let gap = try facts.gap(around: number, in: lane.number) else {
        return .answer(.forgotten)
      }
      guard gap.isSkipped else { return .take(lane, gap: gap.range) }
      // What nobody waits for any more counts as come already.
      if draft.isVoid { return .answer(.forgotten) }
      if draft.isInOrder { return .take(lane, gap: nil) }
      return .answer(.sequencePassed(last: try placedWhole(in: lane, facts: facts)))
    }
  }

  /// The number up to which a lane waits for nothing; 0 in one that is not known.
  private static func placedWhole(
    in lane: KnownLane?, facts: some AppendFacts
  ) throws(StoreError) -> Int64 {
    guard let lane else { return 0 }
    return try facts.firstMissing(in: lane.number).map { $0 - 1 } ?? lane.lastSequence ?? 0
  }

  // MARK: - New envelopes

  private static func insertion(
    of draft: EnvelopeDraft, in known: KnownLane?, gap: SequenceRange?, now: WallTime,
    random: UInt64, facts: some AppendFacts
  ) throws(StoreError) -> InsertPlan {
    let given = facts.given
    let (lane, isNewClient) = try place(of: draft, in: known, facts: facts)
    let numbering = try numbering(of: draft, in: lane, isNew: known == nil, gap: gap, facts: facts)
    let time = acceptanceTime(now, latest: given.latestTime)
    let entry = LineEntry(
      serial: given.nextSerial, client: lane.client, lane: lane.number,
      upstream: try facts.upstreamNumber(draft.upstream), acceptedAt: time,
      expiresAt: draft.expiresAt,
      standing: numbering?.isParked == true ? .parked : draft.hold ? .held : .queued,
      onFailure: draft.onFailure, dueAt: draft.notBefore)
    return InsertPlan(
      entry: entry, id: EnvelopeID(serial: entry.serial, acceptedAt: time, random: random),
      isNewClient: isNewClient, isNewLane: known == nil, numbering: numbering)
  }

  /// What the number of a draft changes; nil if it has none, or one that nobody waits for any more.
  private static func numbering(
    of draft: EnvelopeDraft, in lane: KnownLane, isNew: Bool, gap: SequenceRange?,
    facts: some AppendFacts
  ) throws(StoreError) -> NumberPlan? {
    guard let number = draft.sequence, counts(number, in: lane, gap: gap) else { return nil }
    var plan = NumberPlan(
      taking: number, in: lane, gap: gap,
      placedThrough: isNew ? nil : try facts.placedThrough(lane.number))
    if draft.isInOrder, plan.isParked {
      plan.skipsBelow = true
      plan.mayFlow = true
    }
    return plan
  }

  /// Whether a number that can be taken is one that its lane has not gone on without.
  private static func counts(
    _ number: Int64?, in lane: KnownLane?, gap: SequenceRange?
  ) -> Bool {
    guard let number else { return false }
    return gap != nil || number > lane?.lastSequence ?? 0
  }

  /// The lane of a draft, which may be a new one, and whether its client is new as well.
  private static func place(
    of draft: EnvelopeDraft, in known: KnownLane?, facts: some AppendFacts
  ) throws(StoreError) -> (lane: KnownLane, isNewClient: Bool) {
    if let known { return (known, false) }
    let given = facts.given
    let client = try facts.knownClient(draft.client)
    let lane = KnownLane(
      client: client ?? given.nextClient, number: given.nextLane, lastSequence: nil)
    return (lane, client == nil)
  }

  private static func void(
    _ draft: EnvelopeDraft, in known: KnownLane?, gap: SequenceRange?, facts: some AppendFacts
  ) throws(StoreError) -> VoidPlan {
    guard let number = draft.sequence else { preconditionFailure("what is void has a number") }
    let (lane, isNewClient) = try place(of: draft, in: known, facts: facts)
    var numbering = NumberPlan(
      taking: number, in: lane, gap: gap,
      placedThrough: known == nil ? nil : try facts.placedThrough(lane.number))
    numbering.isVoid = true
    return VoidPlan(
      lane: lane, isNewClient: isNewClient, isNewLane: known == nil, numbering: numbering)
  }

  /// The time of an acceptance.
  ///
  /// The time in an id does not go back for a clock that is being adjusted (RFC 9562 section 6.2).
  /// A clock that was set back is followed, or ids would stand still until it has caught up.
  /// Neither makes two ids alike, since their serials differ.
  private static func acceptanceTime(_ now: WallTime, latest: WallTime) -> WallTime {
    let isAdjusted = latest > now && latest.milliseconds(since: now) <= timeHeldMs
    return isAdjusted ? latest : now
  }

  // MARK: - Coalescing

  /// Puts a draft in the place of the last envelope of its name, if that one waits and nothing of
  /// it is under way.
  ///
  /// - Returns: nil if there is none: a new envelope follows.
  private static func replacement(
    by draft: EnvelopeDraft, _ name: String, in lane: KnownLane, facts: some AppendFacts
  ) throws(StoreError) -> ReplacePlan? {
    guard let former = try facts.waitingPost(ofName: name, in: lane), !former.entry.isInDoubt,
      facts.reserve(former.entry.serial, in: lane.number)
    else { return nil }
    let (entry, keepsBackoff) = former.entry.replaced(
      by: draft, to: try facts.upstreamNumber(draft.upstream), formerNotBefore: former.notBefore)
    let revision = former.revision + 1
    let excess = revision - Int64(StoreLimits.coalescedKeysKeptMax)
    return ReplacePlan(
      former: former,
      edit: EnvelopeEdit(
        content: draft.content, tag: draft.tag, entry: entry, notBefore: draft.notBefore,
        references: draft.references),
      revision: revision, keepsBackoff: keepsBackoff,
      forgottenKeys: excess >= 0 ? excess : nil)
  }
}
