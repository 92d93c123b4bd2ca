@testable import RelayCore
@testable import StoreModel
@testable import WaystationOutboxTesting

// What the scheduler wants done, and what of it is committed.
extension ScheduledRelay {
  mutating func carryOutActions(_ model: inout RelayModel) {
    while true {
      let actions = scheduler.takeActions()
      guard !actions.isEmpty else { break }
      for action in actions { carryOut(action, &model) }
    }
    guard let setting = alarm.set(for: scheduler.nextWake) else { return }
    let soonest = MonotonicTime(nanoseconds: clock.monotonic.nanoseconds + 1)
    agenda.insert(Scheduled(life: life, event: .wake(setting)), at: max(setting.due, soonest))
  }

  private mutating func carryOut(_ action: Scheduler.Action, _ model: inout RelayModel) {
    switch action {
    case .attempt(let entry): attempt(entry, &model)
    case .record(let transition):
      agenda.insert(Scheduled(life: life, event: .commit(transition)), at: commitTime())
    case .readLine(let after): schedule(.lineRead(after: after), inMs: 3)
    case .readLineBackwards(let before): schedule(.lineReadBackwards(before: before), inMs: 3)
    case .reachabilityChanged, .upstreamHeld, .batchCeilingLowered: break
    case .attemptTogether, .verify: violations.append("an attempt of a kind that is not configured")
    }
  }

  /// Commits happen one after the other, in the order in which they were asked for.
  private mutating func commitTime() -> MonotonicTime {
    let soonest = clock.monotonic.adding(milliseconds: Int64.random(in: 0...8, using: &random))
    lastCommitAt = max(soonest, MonotonicTime(nanoseconds: lastCommitAt.nanoseconds + 1))
    return lastCommitAt
  }

  // MARK: - Attempts

  private mutating func attempt(_ entry: LineEntry, _ model: inout RelayModel) {
    guard let envelope = tables.envelopes[entry.serial], let key = envelope.draft.key else {
      return violations.append("\(entry.serial) was attempted and is not stored")
    }
    attemptCount += 1
    let path = String(decoding: envelope.draft.content.target, as: UTF8.self)
    let ending = upstream.attempt(key, model.verdict(of: path), &random) {
      if let envelope = model.envelopes[key] { model.took(envelope) }
    }
    let report = AttemptReport(
      serial: entry.serial, event: ending.event, startedAt: clock.wall,
      durationMs: ending.afterMs, isWritten: ending.isWritten)
    schedule(.attemptEnds(report), inMs: ending.afterMs)
  }

  // MARK: - Transactions

  /// Makes a transaction, and tells the scheduler of it what a store would.
  ///
  /// - Returns: What `body` returned, and where what was put into lanes stands; nil if the
  ///   transaction failed, which is a violation.
  @discardableResult
  mutating func transact<Value>(
    _ body: (inout ModelTables, inout Commit) throws(StoreError) -> Value
  ) -> (value: Value, positions: CommitPositions)? {
    var commit = Commit()
    do throws(StoreError) {
      let value = try body(&tables, &commit)
      var positions = CommitPositions()
      for change in commit.changes { tell(change, &positions) }
      return (value, positions)
    } catch {
      violations.append("\(error)")
      return nil
    }
  }

  private mutating func tell(_ change: Commit.Change, _ positions: inout CommitPositions) {
    switch change {
    case .accepted(let envelopes):
      for envelope in envelopes {
        let isPlaced = envelope.movedFrom != nil
        positions.accepted.append(
          isPlaced
            ? scheduler.placed(envelope.entry, now: clock)
            : scheduler.accepted(envelope.entry, now: clock))
      }
    case .changed(let transitions):
      for transition in transitions {
        if case .end = transition.change, !transition.isMoot,
          let key = tables.envelopes[transition.serial]?.draft.key
        {
          newEnds.append(key)
        }
        scheduler.recorded(transition, now: clock)
      }
    case .unwritten, .coalesced, .cleared, .endsChanged:
      violations.append("a change that nobody asked for")
    }
  }
}

extension RelayModel {
  /// What the upstream makes of a path.
  fileprivate func verdict(of path: String) -> RememberingUpstream.Verdict {
    switch verdicts[path] ?? verdict {
    case .refuse(let status, let body): .refuse(status, body)
    case .take(_, let body): .take(body)
    case .away: .refuse(503, "")
    }
  }
}
