/// The rules of changes: what becomes of envelopes that wait or have ended.
package enum ChangeRules {
  /// Decides what a change writes.
  ///
  /// - Returns: nil if it comes too late to change anything: the envelope does not wait any more,
  ///   or, if it is to be put back in line, has not ended undelivered.
  package static func plan(
    _ transition: Transition, facts: some ChangeFacts
  ) throws(StoreError) -> ChangePlan? {
    if case .requeue(let entry) = transition.change {
      return try plan(requeue: entry, transition, facts: facts)
    }
    guard let place = try facts.waiting(transition.serial) else { return nil }
    let attempts =
      transition.attempt.map { max(Int64($0.number), place.attempts) } ?? place.attempts
    var plan = ChangePlan(
      line: .begin, client: place.client, former: place.standing, standing: place.standing,
      attempts: attempts, event: transition.isEvent ? EventEntry(transition) : nil)
    switch transition.change {
    case .begin, .requeue:
      break
    case .retry(let time):
      plan.line = .retry(at: time, doubt: transition.doubt)
      plan.standing = .queued
      plan.keep(transition.attempt)
    case .block(let reason):
      plan.line = .block(reason: reason)
      plan.standing = .blocked
      plan.keep(transition.attempt)
    case .end(let state, let reason):
      plan.line = .end(
        state, reason: reason.isEmpty ? nil : reason,
        isInDoubt: transition.leavesDoubt(place.isInDoubt))
      plan.standing = nil
      plan.use = WaitingUse(count: -1, bytes: -place.bytes)
    case .release:
      plan.line = .release(
        keepsReason: place.isInDoubt, spendsHold: place.standing == .held)
      plan.standing = .queued
    case .edit(let edit):
      plan.line = .edit
      plan.standing = edit.entry.standing
    }
    return plan
  }

  private static func plan(
    requeue entry: LineEntry, _ transition: Transition, facts: some ChangeFacts
  ) throws(StoreError) -> ChangePlan? {
    guard let end = try facts.end(of: entry.serial), end.state != .delivered else { return nil }
    let isParked = try facts.isAheadOfGap(entry.serial)
    var told = transition
    if isParked { told.noteParked() }
    return ChangePlan(
      line: .requeue(end), client: entry.client, former: nil,
      standing: isParked ? .parked : entry.standing, attempts: end.attempts,
      event: EventEntry(told))
  }

  // MARK: - What has ended

  /// What becomes of an ended envelope that is to be cancelled.
  package enum Cancellation: Equatable, Sendable {
    /// No envelope has ended undelivered.
    case refuse
    /// It was cancelled before.
    case leave
    /// Its end is replaced.
    case replace(StoredEnd)
  }

  /// Decides what becomes of an ended envelope that is to be cancelled.
  package static func cancellation(of end: StoredEnd?) -> Cancellation {
    guard let end, mayCorrect(end) else { return .refuse }
    return end.state == .cancelled ? .leave : .replace(end)
  }

  /// Whether an ended envelope may be corrected: only if it was not delivered.
  package static func mayCorrect(_ end: StoredEnd?) -> Bool {
    end.map { $0.state != .delivered } ?? false
  }

  // MARK: - A client's backlog

  /// Decides which of a client's waiting envelopes are cancelled together.
  ///
  /// - Parameters:
  ///   - items: Those that were selected, in any order: those that moved since the line was read
  ///     are behind all others.
  ///   - spared: The envelopes that the scheduler wants left alone.
  /// - Returns: The cancelled ones, and how many are left alone since they are changing.
  package static func clearing(
    of client: ClientNumber, _ items: [ClearedBacklog.Item], besides spared: SparedEnvelopes
  ) -> (backlog: ClearedBacklog, changingCount: Int) {
    var backlog = ClearedBacklog(client: client)
    for item in items.sorted(by: { $0.serial < $1.serial }) where !spared.contains(item.serial) {
      backlog.append(item)
    }
    return (backlog, items.count { spared.changing.contains($0.serial) })
  }
}

extension ChangePlan {
  /// Adds an attempt to the history, which keeps the latest ones.
  fileprivate mutating func keep(_ attempt: AttemptRecord?) {
    guard let attempt else { return }
    keepsAttempt = true
    let excess = Int64(attempt.number) - Int64(StoreLimits.attemptsKeptMax)
    if excess > 0 { attemptsDroppedThrough = excess }
  }
}
