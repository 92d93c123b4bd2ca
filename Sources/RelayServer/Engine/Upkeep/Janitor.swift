import EventLoop
import RelayCore
import Synchronization

/// Sees to envelopes past their deadline, and deletes what has been kept long enough: in small
/// steps, so that nobody feels it, and only when there is something to do.
final class Janitor: Sendable {
  /// The number of entries that a step of the search for passed deadlines looks at.
  static let stepCountMax = EndPatience.countMax
  /// The number of ended envelopes in a step of retention: no post is stored while the writer
  /// deletes them.
  static let retentionStepCountMax = 250
  /// The pause between two steps of a round, in milliseconds.
  static let stepPauseMs: Int64 = 20
  /// The same for retention.
  static let retentionStepPauseMs: Int64 = 5
  /// The least time between two rounds, in milliseconds.
  static let roundPauseMs: Int64 = 200
  /// A deadline is looked at again at least this often, in milliseconds: the wall clock may have
  /// been set meanwhile.
  static let deadlineSliceMs: Int64 = 60_000
  /// The least time between two rounds of retention for the sake of uploads, in milliseconds.
  static let uploadRoundPauseMs: Int64 = 1_000
  /// The time between two rounds of retention, in milliseconds.
  static let retentionPeriodMs: Int64 = 60_000

  private struct State {
    /// The one timer, and the deadline that it is for.
    var alarm: (timer: ScheduledTimer, deadline: WallTime)?
    var isWalking = false
    var isStopped = false
    /// The timer of the next round of retention; nil while there is a round.
    var round: ScheduledTimer?
    /// Whether another round follows the present one at once.
    var isRoundDue = false
    var retention: RetentionConfiguration
    var eventsKeptSeconds: Int
    var receipts: ReceiptsConfiguration?
  }

  private let store: any EnvelopeStore
  private let dispatcher: Dispatcher
  private let loop: EventLoop
  private let clock: @Sendable () -> Now
  private let log: Log
  private let names: NameSweeper
  private let uploads: UploadDesk?
  private let retentionPeriodMs: Int64
  private let ages: RetentionAges
  private let state: Mutex<State>

  /// Makes a janitor that has not begun.
  ///
  /// - Parameter retentionPeriodMs: How often retention begins a round.
  init(
    dispatcher: Dispatcher, retention: RetentionConfiguration, eventsKeptSeconds: Int,
    loop: EventLoop, clock: @escaping @Sendable () -> Now, log: Log,
    retentionPeriodMs: Int64 = Janitor.retentionPeriodMs, ages: RetentionAges = RetentionAges(),
    uploads: UploadDesk? = nil
  ) {
    self.retentionPeriodMs = retentionPeriodMs
    self.ages = ages
    self.uploads = uploads
    store = dispatcher.store
    self.dispatcher = dispatcher
    state = Mutex(State(retention: retention, eventsKeptSeconds: eventsKeptSeconds))
    self.loop = loop
    self.clock = clock
    self.log = log
    names = NameSweeper(store: dispatcher.store, loop: loop, log: log)
  }

  /// Keeps what has ended, events and receipts for so long from now on: the next round begins at
  /// once.
  func keep(
    _ retention: RetentionConfiguration, eventsForSeconds: Int,
    receipts: ReceiptsConfiguration? = nil
  ) {
    let round = state.withLock { state in
      state.retention = retention
      state.eventsKeptSeconds = eventsForSeconds
      state.receipts = receipts
      state.isRoundDue = state.round == nil
      defer { state.round = nil }
      return state.round
    }
    // A round whose timer has fired already reads these times itself.
    if let round, round.cancel() { scheduleRetention(afterMs: Self.roundPauseMs) }
  }

  /// Begins; goes on by itself until ``stop()``.
  func start() {
    ages.begin(clock)
    dispatcher.deadlines.onEarlier { [weak self] deadline in self?.setAlarm(for: deadline) }
    scheduleRetention(afterMs: Self.roundPauseMs)
  }

  func stop() {
    let alarm = state.withLock { state in
      state.isStopped = true
      defer { state.alarm = nil }
      return state.alarm
    }
    _ = alarm?.timer.cancel()
    names.stop()
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  // MARK: - Deadlines

  private func setAlarm(for deadline: WallTime) {
    let due = Self.alarmTime(of: deadline, now: clock())
    let earlier = state.withLock { state -> ScheduledTimer? in
      guard !state.isStopped, !state.isWalking else { return nil }
      let earlier = state.alarm
      // Of two deadlines that came in at once, the later one may be told last.
      if let earlier, earlier.deadline < deadline { return nil }
      state.alarm = (loop.schedule(at: due) { self.ring(for: deadline) }, deadline)
      return earlier?.timer
    }
    _ = earlier?.cancel()
  }

  /// The time of the next look at a deadline: not before the pause of a round is over, and before
  /// long, since the kernel may not report that the wall clock was set.
  static func alarmTime(of deadline: WallTime, now: Now) -> MonotonicTime {
    let soonest = now.monotonic.adding(milliseconds: roundPauseMs)
    let slice = now.monotonic.adding(milliseconds: deadlineSliceMs)
    return min(max(now.monotonic(at: deadline), soonest), slice)
  }

  /// A deadline has come, or is to be looked at again.
  private func ring(for deadline: WallTime) {
    if clock().wall >= deadline { beginWalk() } else { setAlarm(for: deadline) }
  }

  private func beginWalk() {
    let mayBegin = state.withLock { state in
      guard !state.isStopped, !state.isWalking else { return false }
      state.isWalking = true
      return true
    }
    guard mayBegin else { return }
    dispatcher.deadlines.reset()
    Task(executorPreference: loop) { await self.walk() }
  }

  /// One round along the line.
  private func walk() async {
    var next: WallTime?
    do throws(StoreError) {
      while !isStopped {
        let page = try await store.expiredEntries(at: clock().wall, countMax: Self.stepCountMax)
        await end(page.expired)
        if page.isRoundDone {
          next = page.nextDeadline
          break
        }
        await pause()
      }
    } catch {
      log.repeating(
        .error, "deadlines could not be looked up", about: "\(error.kind)", .usual,
        ("error", .text(error.description)))
      next = clock().wall.adding(milliseconds: Dispatcher.readRetryDelayMs)
    }
    state.withLock { state in
      state.isWalking = false
      state.alarm = nil
    }
    if let next { dispatcher.deadlines.note(next) }
    dispatcher.deadlines.repeatEarliest()
  }

  /// Lets envelopes expire, and waits until that is on disk: a page read before then would show
  /// them again.
  private func end(_ expired: [LineEntry]) async {
    let patience = EndPatience(from: clock().monotonic)
    var changingCount = dispatcher.expire(expired)
    while patience.waits(for: changingCount, at: clock().monotonic), !isStopped {
      await pause()
      changingCount = dispatcher.expire([])
    }
  }

  private func pause(_ milliseconds: Int64 = stepPauseMs) async {
    await loop.sleep(until: clock().monotonic.adding(milliseconds: milliseconds))
  }

  // MARK: - Retention

  /// Begins a round after the delay, or before long where one is due.
  private func scheduleRetention(afterMs delay: Int64) {
    state.withLock { state in
      guard !state.isStopped else { return }
      // In one piece: whoever wants a round at once finds its timer, or that one goes on.
      state.round = loop.schedule(afterMs: state.isRoundDue ? Self.roundPauseMs : delay) {
        [weak self] in self?.beginRetention()
      }
      state.isRoundDue = false
    }
  }

  private func beginRetention() {
    state.withLock { $0.round = nil }
    Task(executorPreference: loop) { await self.clean() }
  }

  /// One round of retention.
  private func clean() async {
    await forgetUploads()
    await deleteEnded()
    await forgetEvents()
    await forgetReceipts()
    // What these have let go of may have been the last that spoke of a name.
    names.sweepIfDue()
    // Uploads that are kept for less than the time between two rounds hold room that others want.
    let uploadsMs = Int64(state.withLock { $0.retention.uploadSeconds }) * 1000
    scheduleRetention(afterMs: min(retentionPeriodMs, max(Self.uploadRoundPauseMs, uploadsMs)))
  }

  /// The present ages of what is kept.
  private func presentAges() async -> RetentionClock {
    let keptSecondsMax = state.withLock { state in
      max(
        state.retention.deliveredSeconds, state.retention.failedSeconds,
        state.retention.keySeconds, state.retention.uploadSeconds, state.eventsKeptSeconds,
        state.receipts?.keptSeconds ?? 0)
    }
    return await ages.look(clock, keptMsMax: Int64(keptSecondsMax) * 1000)
  }

  /// One round along what has ended, and along the keys of what is deleted already.
  private func deleteEnded() async {
    let retention = state.withLock { $0.retention }
    let ages = await presentAges()
    let cutoffs = RetentionCutoffs(
      delivered: ages.cutoff(keptMs: Int64(retention.deliveredSeconds) * 1000),
      failed: ages.cutoff(keptMs: Int64(retention.failedSeconds) * 1000),
      keys: ages.cutoff(keptMs: Int64(retention.keySeconds) * 1000))
    var (deletedCount, keyCount) = (0, 0)
    do throws(StoreError) {
      while !isStopped {
        let page = try await store.deleteEnded(
          cutoffs, countMax: Self.retentionStepCountMax)
        deletedCount += page.deletedCount
        keyCount += page.forgottenKeyCount
        if page.isRoundDone { break }
        await pause(Self.retentionStepPauseMs)
      }
    } catch  where error.kind == .closed {
      return
    } catch {
      log.repeating(
        .error, "ended envelopes could not be deleted", about: "\(error.kind)", .usual,
        ("error", .text(error.description)))
    }
    if deletedCount > 0 {
      log.debug("ended envelopes were deleted", ("count", .integer(Int64(deletedCount))))
    }
    if keyCount > 0 { log.debug("keys were forgotten", ("count", .integer(Int64(keyCount)))) }
  }

  /// Forgets events that have been kept long enough.
  private func forgetEvents() async {
    let keptMs = state.withLock { Int64($0.eventsKeptSeconds) * 1000 }
    let cutoff = await presentAges().cutoff(keptMs: keptMs)
    await forget(orSay: "events could not be forgotten") { [store] () throws(StoreError) in
      try await store.forgetEvents(before: cutoff, countMax: Self.retentionStepCountMax)
    }
  }

  /// Forgets receipts that have been kept long enough; none while none are made, since nobody says
  /// then how long that is.
  private func forgetReceipts() async {
    guard let rules = state.withLock({ $0.receipts }) else { return }
    let retention = ReceiptRetention(
      since: await presentAges().cutoff(keptMs: Int64(rules.keptSeconds) * 1000),
      groupsMax: rules.keptGroupsMax, entriesMax: rules.keptEntriesMax)
    await forget(orSay: "receipts could not be forgotten") { [store] () throws(StoreError) in
      try await store.forgetReceipts(retention, countMax: Self.retentionStepCountMax)
    }
  }

  /// Takes one step after the other, until one says that it was the last.
  private func forget(
    orSay event: StaticString, _ step: () async throws(StoreError) -> Bool
  ) async {
    do throws(StoreError) {
      while !isStopped {
        if try await step() { return }
        await pause(Self.retentionStepPauseMs)
      }
    } catch  where error.kind == .closed {
      return
    } catch {
      log.repeating(
        .error, event, about: "\(error.kind)", .usual,
        ("error", .text(error.description)))
    }
  }

  /// Forgets uploads of which nothing has come for long enough.
  private func forgetUploads() async {
    guard let uploads else { return }
    let keptMs = state.withLock { Int64($0.retention.uploadSeconds) * 1000 }
    let cutoff = await presentAges().cutoff(keptMs: keptMs)
    do throws(StoreError) {
      while !isStopped {
        let stale = try await store.staleUploads(
          before: cutoff, countMax: Self.retentionStepCountMax)
        let forgottenCount = try await forget(stale, of: uploads, before: cutoff)
        if stale.count < Self.retentionStepCountMax || forgottenCount == 0 { return }
        await pause(Self.retentionStepPauseMs)
      }
    } catch  where error.kind == .closed {
      return
    } catch {
      log.repeating(
        .error, "uploads could not be forgotten", about: "\(error.kind)", .usual,
        ("error", .text(error.description)))
    }
  }
}

extension Janitor {
  /// Forgets uploads, except those that a request is about: it may be completing one.
  private func forget(
    _ stale: [UploadID], of uploads: UploadDesk, before cutoff: WallTime
  ) async throws(StoreError) -> Int {
    let turns = uploads.freeTurns(of: stale)
    defer { for turn in turns { uploads.end(turn) } }
    guard !turns.isEmpty else { return 0 }
    let forgotten = try await store.forgetUploads(turns.map(\.id), before: cutoff)
    for id in forgotten { uploads.end(id, as: .expired) }
    return forgotten.count
  }
}

/// The time for which a step of the search for passed deadlines waits for its ends on disk.
///
/// A few that do not get there hold up nobody else's deadlines; as many as a step may find do: on a
/// disk that takes nothing, there would be ever more of them in memory.
package struct EndPatience: Sendable {
  /// The longest wait for a few, in milliseconds.
  package static let durationMs: Int64 = 10_000
  /// The number of ends from which on the wait has no limit.
  package static let countMax = 2000

  private let until: MonotonicTime

  /// Begins with a step.
  package init(from now: MonotonicTime) { until = now.adding(milliseconds: Self.durationMs) }

  /// Returns true if the next step waits on.
  ///
  /// - Parameter count: How many ends are on their way to the disk.
  package func waits(for count: Int, at now: MonotonicTime) -> Bool {
    count > 0 && (count >= Self.countMax || now < until)
  }
}
