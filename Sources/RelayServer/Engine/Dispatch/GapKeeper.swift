import EventLoop
import RelayCore
import Synchronization

/// Sees to lanes that wait for sequence numbers: gives up the missing ones once the lane's
/// `gapTimeoutSeconds` have passed, and goes on where an earlier process was cut off.
final class GapKeeper: Sendable {
  /// The pause before something that failed is tried again, in milliseconds.
  private static let retryDelayMs: Int64 = 1000

  private struct State {
    var watch = GapWatch()
    var alarm: ScheduledTimer?
    var isRunning = false
  }

  private let store: any EnvelopeStore
  private let rules: LaneRulesTable
  private let loop: EventLoop
  private let clock: @Sendable () -> Now
  private let log: Log
  private let state = Mutex(State())

  init(
    store: any EnvelopeStore, rules: LaneRulesTable, loop: EventLoop,
    clock: @escaping @Sendable () -> Now, log: Log
  ) {
    self.store = store
    self.rules = rules
    self.loop = loop
    self.clock = clock
    self.log = log
  }

  /// Takes in what was found parked at start, before ``start()``.
  func takeUp(_ parked: [LaneNumber: WallTime]) async throws(StoreError) {
    guard !rules.isEmpty, !parked.isEmpty else { return }
    let names = try await store.laneNames(Array(parked.keys))
    state.withLock { state in
      for (lane, since) in parked {
        guard let name = names[lane] else { continue }
        note(lane, named: name.lane, since: since, in: &state)
      }
    }
  }

  /// Begins to give up what was waited for long enough.
  func start() {
    state.withLock { $0.isRunning = true }
    placeParked()
    arm()
  }

  func stop() {
    let alarm = state.withLock { state in
      state.isRunning = false
      defer { state.alarm = nil }
      return state.alarm
    }
    _ = alarm?.cancel()
  }

  /// Envelopes were accepted; of those that are parked it is noted since when they wait.
  private func note(_ envelopes: [AcceptedEnvelope]) {
    guard envelopes.contains(where: { $0.entry.standing == .parked }) else { return }
    state.withLock { state in
      for envelope in envelopes where envelope.entry.standing == .parked {
        guard let draft = envelope.draft else { continue }
        note(
          envelope.entry.lane, named: draft.lane, since: envelope.entry.acceptedAt, in: &state)
      }
    }
    arm()
  }

  /// An envelope was put back in line, and is parked there.
  private func noteAgain(_ entry: LineEntry) {
    guard !rules.isEmpty else { return }
    Task(executorPreference: loop) { [self] in
      do throws(StoreError) {
        guard let name = try await store.laneNames([entry.lane])[entry.lane] else { return }
        let now = clock().wall
        state.withLock { note(entry.lane, named: name.lane, since: now, in: &$0) }
        arm()
      } catch {
        logTrouble(error)
      }
    }
  }

  private func note(
    _ lane: LaneNumber, named name: String, since: WallTime, in state: inout State
  ) {
    let rules = rules.rules(ofLane: name)
    // A lane that was declared `latest` later on waits for nothing any more.
    guard let timeoutMs = rules.order == .latest ? 0 : rules.gapTimeoutMs else { return }
    state.watch.note(lane, since: since, timeoutMs: timeoutMs, now: clock())
  }

  // MARK: - Giving up

  private func arm() {
    let earlier = state.withLock { state -> ScheduledTimer? in
      guard state.isRunning, let due = state.watch.nextDue else { return nil }
      defer { state.alarm = loop.schedule(at: due) { self.ring() } }
      return state.alarm
    }
    _ = earlier?.cancel()
  }

  private func ring() {
    // The clock is read under the lock, so that its steps are seen in their order.
    let due = state.withLock { $0.isRunning ? $0.watch.takeDue(at: clock()) : [] }
    if !due.isEmpty {
      Task(executorPreference: loop) { [self] in
        for lane in due { await giveUp(lane) }
        arm()
      }
    }
    arm()
  }

  private func giveUp(_ due: GapWatch.Due) async {
    do throws(StoreError) {
      let skip = try await store.skipGaps(
        of: due.lane, parkedBy: due.parkedBy, now: clock().wall)
      if let since = skip.waitingSince {
        note(due, since: since, leastMs: skip.skipped.isEmpty ? Self.retryDelayMs : 0)
      }
      if !skip.skipped.isEmpty { await logSkip(skip.skipped, of: due.lane) }
    } catch  where error.kind == .closed {
      return
    } catch {
      logTrouble(error)
      note(due, since: due.parkedBy, leastMs: Self.retryDelayMs)
    }
  }

  /// The remaining wait ends in time, but not at once again.
  private func note(_ due: GapWatch.Due, since: WallTime, leastMs: Int64) {
    state.withLock { state in
      state.watch.note(
        due.lane, since: since, timeoutMs: due.timeoutMs, leastMs: leastMs, now: clock())
    }
  }

  private func logSkip(_ skipped: [SequenceRange], of lane: LaneNumber) async {
    let name = try? await store.laneNames([lane])[lane]
    log.warning(
      "lane goes on without missing sequence numbers", ("client", .text(name?.client ?? "")),
      ("lane", .text(name?.lane ?? "")),
      ("missing", .text(MissingNumbers(ranges: skipped, hasMore: false).words)))
  }

  private func logTrouble(_ error: StoreError) {
    log.repeating(
      .error, "missing sequence numbers could not be seen to", about: "\(error.kind)", .usual,
      ("error", .text(error.description)))
  }

  // MARK: - Going on

  private func placeParked() {
    Task(executorPreference: loop) { [self] in
      do throws(StoreError) {
        try await store.placeParked()
      } catch  where error.kind == .closed {
        return
      } catch {
        logTrouble(error)
        loop.schedule(afterMs: Self.retryDelayMs) { self.placeParked() }
      }
    }
  }
}

extension GapKeeper: CommitListener {
  /// Notes what was parked, be it that it is new or was put back in line.
  func committed(_ commit: Commit, at now: Now) {
    for change in commit.changes {
      switch change {
      case .changed(let transitions):
        for transition in transitions {
          guard case .requeue(let entry) = transition.change, entry.standing == .parked else {
            continue
          }
          noteAgain(entry)
        }
      case .accepted(let envelopes): note(envelopes)
      case .coalesced, .unwritten, .endsChanged, .cleared: break
      }
    }
  }
}
