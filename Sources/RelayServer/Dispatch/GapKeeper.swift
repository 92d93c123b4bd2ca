import EventLoop
import RelayCore
import Synchronization

/// Sees to lanes that wait for sequence numbers: gives up the missing ones once the lane's
/// `gapTimeout` has passed, and goes on where an earlier process was cut off.
final class GapKeeper: Sendable {
  /// The alarm is looked at again at least this often: the wall clock may have been set meanwhile.
  private static let sliceMs: Int64 = 60_000
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
  func note(_ envelopes: [AcceptedEnvelope]) {
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
  func noteAgain(_ entry: LineEntry) {
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
    note(lane, since: since, timeoutMs: timeoutMs, in: &state)
  }

  // MARK: - Giving up

  private func arm() {
    let now = clock()
    let earlier = state.withLock { state -> ScheduledTimer? in
      guard state.isRunning, let due = state.watch.nextDue else { return nil }
      let slice = now.monotonic.adding(milliseconds: Self.sliceMs)
      defer {
        state.alarm = loop.schedule(at: min(now.monotonic(at: due), slice)) { self.ring() }
      }
      return state.alarm
    }
    _ = earlier?.cancel()
  }

  /// The wall clock was set, which is what the alarm goes by.
  func clockWasSet() { arm() }

  private func ring() {
    let now = clock().wall
    let due = state.withLock { $0.isRunning ? $0.watch.takeDue(at: now) : [] }
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
      if let since = skip.waitingSince { note(due, since: since) }
      if !skip.skipped.isEmpty { await logSkip(skip.skipped, of: due.lane) }
    } catch  where error.kind == .closed {
      return
    } catch {
      logTrouble(error)
      // Tried again soon, but not at once.
      let soon = clock().wall.adding(milliseconds: Self.retryDelayMs - due.timeoutMs)
      note(due, since: soon)
    }
  }

  private func note(_ due: GapWatch.Due, since: WallTime) {
    state.withLock { note(due.lane, since: since, timeoutMs: due.timeoutMs, in: &$0) }
  }

  /// What was accepted by a clock that has been set back since waits from now on.
  private func note(
    _ lane: LaneNumber, since: WallTime, timeoutMs: Int64, in state: inout State
  ) {
    state.watch.note(lane, since: min(since, clock().wall), timeoutMs: timeoutMs)
  }

  private func logSkip(_ skipped: [SequenceRange], of lane: LaneNumber) async {
    let name = try? await store.laneNames([lane])[lane]
    log.warning(
      "lane goes on without missing sequence numbers", ("client", .text(name?.client ?? "")),
      ("lane", .text(name?.lane ?? "")),
      ("missing", .text(MissingNumbers(ranges: skipped, hasMore: false).words)))
  }

  private func logTrouble(_ error: StoreError) {
    log.error("missing sequence numbers could not be seen to", ("error", .text(error.description)))
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
