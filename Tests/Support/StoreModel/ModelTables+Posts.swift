import RelayCore

// Posts, in the manner of a store behind a network: all facts of a batch are read by its questions
// before any of it is planned.
extension ModelTables {
  /// Answers the questions of a batch.
  func gather(
    _ questions: AppendQuestions, _ limits: NameLimits,
    reserve: @escaping @Sendable (Serial, LaneNumber) -> Bool
  ) -> GatheredFacts {
    var facts = GatheredFacts(given: given, nameLimits: limits, reserve: reserve)
    for name in questions.upstreams {
      if let number = upstreams[name] { facts.fill(upstream: name, number) }
    }
    for name in questions.lanes {
      guard let client = clients[name.client] else { continue }
      facts.fill(client: name.client, client, laneCount: Int64(laneCount(of: client)))
      guard let number = laneNumbers[name], let lane = lanes[number] else { continue }
      fill(lane, number, questions, into: &facts)
    }
    for question in questions.keys {
      if let key = remembered[question] { facts.fill(remembered: question, key.digest) }
      guard let client = clients[question.client], let key = keys[client]?[question.key],
        var post = storedPost(key.serial)
      else { continue }
      if let fingerprint = key.fingerprint { post.fingerprint = fingerprint }
      facts.fill(key: question.key, of: client, post)
    }
    for question in questions.names {
      guard let number = laneNumbers[question.lane],
        let serial = lanes[number]?.names[question.name], let envelope = envelopes[serial],
        envelope.end == nil
      else { continue }
      facts.fill(
        name: question.name, in: number,
        WaitingPost(
          id: envelope.id, key: envelope.draft.key, fingerprint: envelope.draft.fingerprint,
          notBefore: envelope.draft.notBefore, revision: envelope.revision,
          entry: envelope.entry))
    }
    return facts
  }

  /// What the rules on names ask about a client.
  func gather(client name: String, _ limits: NameLimits) -> GatheredFacts {
    var facts = GatheredFacts(given: given, nameLimits: limits) { _, _ in false }
    if let number = clients[name] {
      facts.fill(client: name, number, laneCount: Int64(laneCount(of: number)))
    }
    return facts
  }

  private func fill(
    _ lane: Lane, _ number: LaneNumber, _ questions: AppendQuestions,
    into facts: inout GatheredFacts
  ) {
    let asked = questions.numbers[lane.name] ?? []
    let open = lane.gaps.filter { !$0.isSkipped && $0.range.first > lane.placedThrough ?? 0 }
      .prefix(questions.openGapCount(in: lane.name))
    facts.fill(
      lane: lane.name,
      KnownLane(client: lane.client, number: number, lastSequence: lane.lastSequence),
      placedThrough: lane.placedThrough,
      gaps: lane.gaps.filter { gap in
        open.contains(gap) || asked.contains { gap.range.first <= $0 && $0 <= gap.range.last }
      })
    for sequence in asked {
      guard let serial = lane.numbers[sequence] else { continue }
      facts.fill(
        number: sequence, in: number, storedPost(serial).map { .post($0) } ?? .forgotten)
    }
  }

  private func storedPost(_ serial: Serial) -> StoredPost? {
    envelopes[serial].map {
      StoredPost(
        id: $0.id, fingerprint: $0.draft.fingerprint, key: $0.draft.key, state: state(of: $0))
    }
  }

  func laneCount(of client: ClientNumber) -> Int {
    lanes.values.count { $0.client == client }
  }

  // MARK: - Carrying out

  /// Writes a new envelope.
  mutating func carryOut(_ plan: InsertPlan, of draft: EnvelopeDraft) {
    let entry = plan.entry
    let name = LaneName(client: draft.client, lane: draft.lane)
    given.note(plan)
    if plan.isNewClient { clients[draft.client] = entry.client }
    if plan.isNewLane {
      laneNumbers[name] = entry.lane
      lanes[entry.lane] = Lane(name: name, client: entry.client)
    }
    if let numbering = plan.numbering {
      note(numbering, in: entry.lane)
      lanes[entry.lane]?.numbers[numbering.number] = entry.serial
    }
    put(Envelope(id: plan.id, draft: draft, entry: entry))
    if let key = draft.key { keys[entry.client, default: [:]][key] = Key(serial: entry.serial) }
    if let name = draft.coalesce { lanes[entry.lane]?.names[name] = entry.serial }
  }

  /// Writes that a number is void.
  mutating func carryOut(_ plan: VoidPlan, of draft: EnvelopeDraft) {
    given.note(plan)
    if plan.isNewClient { clients[draft.client] = plan.lane.client }
    if plan.isNewLane {
      let name = LaneName(client: draft.client, lane: draft.lane)
      laneNumbers[name] = plan.lane.number
      lanes[plan.lane.number] = Lane(name: name, client: plan.lane.client)
    }
    note(plan.numbering, in: plan.lane.number)
  }

  private mutating func note(_ numbering: NumberPlan, in lane: LaneNumber) {
    lanes[lane]?.lastSequence = numbering.highest
    lanes[lane]?.gaps.take(numbering)
    if let placed = numbering.placedThrough { lanes[lane]?.placedThrough = placed }
  }

  /// Replaces the content of an envelope that waits.
  mutating func carryOut(_ plan: ReplacePlan, of draft: EnvelopeDraft) {
    let entry = plan.edit.entry
    guard var envelope = envelopes[entry.serial] else { return }
    if let key = plan.former.key {
      keys[entry.client]?[key]?.fingerprint = plan.former.fingerprint
      envelope.formerKeys[plan.former.revision] = key
    }
    envelope.draft.key = draft.key
    envelope.draft.fingerprint = draft.fingerprint
    envelope.revision = plan.revision
    if let key = draft.key { keys[entry.client, default: [:]][key] = Key(serial: entry.serial) }
    if let forgotten = plan.forgottenKeys {
      for (revision, key) in envelope.formerKeys where revision <= forgotten {
        keys[entry.client]?[key] = nil
        envelope.formerKeys[revision] = nil
      }
    }
    put(envelope)
    apply(plan.edit)
  }

  // MARK: - Placing

  /// Puts in line what of a lane waits for nothing any more.
  ///
  /// - Parameter countMax: The most envelopes to move.
  /// - Returns: What moved, in order, and whether there is more.
  mutating func placeParked(
    of number: LaneNumber, countMax: Int
  ) -> (placed: [AcceptedEnvelope], hasMore: Bool) {
    var placed: [AcceptedEnvelope] = []
    var moveCount = 0
    while let through = lanes[number]?.placedThrough {
      guard through < lanes[number]?.lastSequence ?? 0 else {
        lanes[number]?.placedThrough = nil
        break
      }
      guard moveCount < countMax else { return (placed, true) }
      let next = through + 1
      let gap = lanes[number]?.gaps.first { $0.range.first <= next && next <= $0.range.last }
      switch PlacingRules.step(serial: lanes[number]?.numbers[next], gap: gap) {
      case .wait: return (placed, false)
      case .pass(let last): lanes[number]?.placedThrough = last
      case .move(let serial):
        if let envelope = move(serial, number: next, of: number) { placed.append(envelope) }
        lanes[number]?.placedThrough = next
        moveCount += 1
      }
    }
    return (placed, false)
  }

  private mutating func move(
    _ old: Serial, number: Int64, of lane: LaneNumber
  ) -> AcceptedEnvelope? {
    guard var envelope = remove(old) else {
      lanes[lane]?.numbers[number] = nil
      return nil
    }
    let new = given.nextSerial
    given.lastSerial = new
    envelope.entry.serial = new
    envelope.entry.standing = envelope.draft.hold ? .held : .queued
    envelope.reason = nil
    put(envelope)
    moved[old] = new
    lanes[lane]?.numbers[number] = new
    if let key = envelope.draft.key { keys[envelope.entry.client]?[key]?.serial = new }
    guard envelope.end == nil else { return nil }
    return AcceptedEnvelope(entry: envelope.entry, id: envelope.id, movedFrom: old)
  }
}
