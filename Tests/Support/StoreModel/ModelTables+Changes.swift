import RelayCore

extension ModelTables: ChangeFacts {
  func waiting(_ serial: Serial) -> WaitingPlace? {
    guard let entry = place(of: serial), let envelope = envelopes[serial] else { return nil }
    return WaitingPlace(
      client: entry.client, standing: entry.standing, attempts: envelope.attemptCount,
      isInDoubt: entry.isInDoubt, bytes: envelope.draft.content.byteCount)
  }

  func end(of serial: Serial) -> StoredEnd? {
    guard let envelope = envelopes[serial], let end = envelope.end else { return nil }
    return StoredEnd(
      state: end.state, attempts: envelope.attemptCount, isInDoubt: end.isInDoubt, ending: nil,
      at: end.at, isTried: end.attempt != nil)
  }

  func isAheadOfGap(_ serial: Serial) -> Bool {
    guard let envelope = envelopes[serial], let number = envelope.draft.sequence,
      let placed = lanes[envelope.entry.lane]?.placedThrough
    else { return false }
    return number > placed
  }
}

// Changes, and what is forgotten.
extension ModelTables {
  /// Writes a change.
  mutating func carryOut(_ plan: ChangePlan, of transition: Transition) {
    guard var envelope = envelopes[transition.serial] else { return }
    envelope.attemptCount = plan.attempts
    envelope.entry.attempts = Int32(truncatingIfNeeded: plan.attempts)
    if let standing = plan.standing { envelope.entry.standing = standing }
    switch plan.line {
    case .begin: envelope.entry.isInDoubt = true
    case .retry(let time, let doubt):
      envelope.entry.dueAt = time
      envelope.entry.isInDoubt = doubt != nil
      envelope.reason = doubt
      given.latestTime = max(given.latestTime, transition.at)
    case .block(let reason):
      envelope.entry.dueAt = nil
      envelope.entry.isInDoubt = false
      envelope.reason = reason
    case .end(let state, let reason, let isInDoubt):
      envelope.end = End(
        state: state, at: transition.at, reason: reason, attempt: transition.attempt,
        isInDoubt: isInDoubt)
      lanes[envelope.entry.lane]?.ended[state, default: 0] += 1
    case .release(let keepsReason, let spendsHold):
      envelope.entry.dueAt = nil
      if !keepsReason { envelope.reason = nil }
      if spendsHold { envelope.draft.hold = false }
    case .edit: break
    case .requeue(let end): requeue(&envelope, end, transition, standing: plan.standing)
    }
    if plan.keepsAttempt, let attempt = transition.attempt {
      envelope.attempts.removeAll { $0.number == attempt.number }
      envelope.attempts.append(attempt)
      if let dropped = plan.attemptsDroppedThrough {
        envelope.attempts.removeAll { $0.number <= dropped }
      }
    }
    if let response = transition.response { envelope.response = response }
    put(envelope)
    if case .edit(let edit) = transition.change { apply(edit) }
  }

  private mutating func requeue(
    _ envelope: inout Envelope, _ end: StoredEnd, _ transition: Transition, standing: Standing?
  ) {
    guard case .requeue(let entry) = transition.change else { return }
    if let attempt = envelope.end?.attempt { envelope.attempts.append(attempt) }
    envelope.end = nil
    envelope.reason = nil
    envelope.response = nil
    envelope.entry.acceptedAt = entry.acceptedAt
    envelope.entry.expiresAt = entry.expiresAt
    envelope.entry.dueAt = entry.dueAt
    envelope.entry.isInDoubt = end.isInDoubt
    if let standing { envelope.entry.standing = standing }
    envelope.draft.expiresAt = entry.expiresAt
    lanes[envelope.entry.lane]?.ended[end.state, default: 0] -= 1
  }

  /// Replaces content and terms; a waiting envelope's place goes along.
  mutating func apply(_ edit: EnvelopeEdit) {
    guard var envelope = envelopes[edit.entry.serial] else { return }
    let upstream = upstreams.first { $0.value == edit.entry.upstream }?.key
    envelope.draft.upstream = upstream ?? envelope.draft.upstream
    envelope.draft.content = edit.content
    envelope.draft.tag = edit.tag
    envelope.draft.hold = edit.hold
    envelope.draft.notBefore = edit.notBefore
    envelope.draft.expiresAt = edit.entry.expiresAt
    envelope.draft.onFailure = edit.entry.onFailure
    envelope.draft.references = edit.references
    envelope.entry.upstream = edit.entry.upstream
    envelope.entry.expiresAt = edit.entry.expiresAt
    envelope.entry.onFailure = edit.entry.onFailure
    if envelope.end == nil {
      envelope.entry.standing = edit.entry.standing
      envelope.entry.dueAt = edit.entry.dueAt
      envelope.entry.isInDoubt = false
    }
    put(envelope)
  }

  /// Replaces the end of an envelope.
  mutating func cancelEnded(_ serial: Serial, _ end: StoredEnd, reason: String, at now: WallTime) {
    guard var envelope = envelopes[serial] else { return }
    let lane = envelope.entry.lane
    envelope.end?.state = .cancelled
    envelope.end?.at = now
    envelope.end?.reason = reason
    put(envelope)
    lanes[lane]?.ended[end.state, default: 0] -= 1
    lanes[lane]?.ended[.cancelled, default: 0] += 1
  }

  /// Deletes an envelope that has ended.
  ///
  /// - Returns: What it was.
  mutating func delete(_ serial: Serial) -> Envelope? {
    guard let envelope = remove(serial), let end = envelope.end else { return nil }
    let (lane, client) = (envelope.entry.lane, envelope.entry.client)
    if let number = envelope.draft.sequence,
      RetentionRules.forgetsNumber(number, placedThrough: lanes[lane]?.placedThrough)
    {
      lanes[lane]?.numbers[number] = nil
    }
    moved[envelope.id.serial] = nil
    for key in [envelope.draft.key].compactMap(\.self) + envelope.formerKeys.values {
      keys[client]?[key] = nil
    }
    if let name = envelope.draft.coalesce, lanes[lane]?.names[name] == serial {
      lanes[lane]?.names[name] = nil
    }
    lanes[lane]?.ended[end.state, default: 0] -= 1
    return envelope
  }

  /// Remembers the keys of an envelope that is about to be deleted.
  mutating func rememberKeys(of envelope: Envelope) {
    guard let end = envelope.end else { return }
    for name in [envelope.draft.key].compactMap(\.self) + envelope.formerKeys.values {
      guard let key = keys[envelope.entry.client]?[name] else { continue }
      remembered[AppendQuestions.Key(client: envelope.draft.client, key: name)] = Remembered(
        endedAt: end.at,
        digest: RememberedKey.digest(of: key.fingerprint ?? envelope.draft.fingerprint))
    }
  }

  /// Forgets keys of envelopes that ended before a time, those that ended first.
  ///
  /// - Returns: How many.
  mutating func forgetKeys(before time: WallTime, countMax: Int) -> Int {
    let due = remembered.filter { $0.value.endedAt < time }
      .sorted { $0.value.endedAt < $1.value.endedAt }.prefix(countMax)
    for (key, _) in due { remembered[key] = nil }
    return due.count
  }

  /// Gives up what is missing below a number.
  mutating func skipGaps(of number: LaneNumber, below: Int64) -> [SequenceRange] {
    guard var lane = lanes[number], let placed = lane.placedThrough else { return [] }
    var skipped: [SequenceRange] = []
    for index in lane.gaps.indices {
      let gap = lane.gaps[index]
      guard !gap.isSkipped, gap.range.first > placed, gap.range.first < below else { continue }
      lane.gaps[index].isSkipped = true
      skipped.append(gap.range)
    }
    lanes[number] = lane
    return skipped
  }
}
