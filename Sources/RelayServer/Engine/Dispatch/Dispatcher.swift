import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// Carries out what the ``Scheduler`` decides: the one place where store, forwarder and clock meet
/// it.
///
/// Events come from the store's threads, the forwarder's thread and the event loop. Each takes the
/// lock for as long as the decision lasts, and carries the actions out after letting it go. Actions
/// of different lanes may be carried out in any order; a lane has at most one under way.
package final class Dispatcher: Sendable {
  struct State {
    var scheduler: Scheduler
    var contents = ContentCache()
    var runs = RunBook()
    var alarm = Alarm()
    var forwarder: Forwarder?
    var isStopped = false
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
  }

  let state: Mutex<State>
  let store: any EnvelopeStore
  let loop: EventLoop
  let clock: @Sendable () -> Now
  let log: Log
  /// Tells what becomes of envelopes.
  let stories: EnvelopeLog
  let meter: RateMeter
  /// Counts for `/metrics`.
  let metrics: RelayMetrics
  /// Spans for a collector.
  let tracer: Tracer
  /// Each client's waiting envelopes, and their limits.
  let quotas: QuotaKeeper
  /// The configuration of lanes, by their names.
  let lanes: LaneRulesTable
  /// Those who wait until an envelope has ended or blocks its lane.
  ///
  /// Of the four books of waiters, this one alone is a listener to commits. The others are settled
  /// by hand, under the scheduler's lock, and must not be registered: what they wait for is not
  /// what becomes of an envelope.
  let waiters = SettlementWaiters()
  /// Those who wait until a change that they asked for is durable.
  let changes = SettlementWaiters()
  /// Those who wait until it is known what a run is about, and those who wait until it is settled.
  let runsBegun = SettlementWaiters()
  let runsSettled = SettlementWaiters()
  /// The turns to change an envelope.
  let turns = SteeringTurns()
  let targets: Mutex<[UpstreamNumber: UpstreamTarget]> = Mutex([:])
  /// The requests under way to upstreams whose envelopes go together.
  let batchesInFlight = BatchesInFlight()
  /// The upstreams that get no compressed requests until a reload.
  let codingRefusals = UpstreamMarks()
  /// The upstreams that answer several with JSON without known results, as the log has told.
  let resultless = UpstreamMarks()
  let deadlines = DeadlineAlarm()
  private let alarmTimer = AlarmTimer()
  /// Those who listen to events.
  let listeners = EventListeners()
  /// The latest change of each upstream's reachability that is to be logged.
  let reachabilityNotes = ReachabilityNotes()
  /// What needs somebody.
  let needs: NeedsKeeper
  /// Counts for the charts.
  let history: HistoryKeeper
  /// Sees to lanes that wait for sequence numbers.
  let gaps: GapKeeper
  /// The listeners to the store's commits.
  let commitListeners: CommitListeners
  let waitingCountNow = Atomic(0)
  let surveyor: LaneSurveyor

  /// The wait before a failed read is tried again, in milliseconds.
  static let readRetryDelayMs: Int64 = 1000

  /// Makes a dispatcher that knows of no upstream and no envelope yet.
  init(
    store: any EnvelopeStore, loop: EventLoop, clock: @escaping @Sendable () -> Now, log: Log,
    meter: RateMeter, metrics: RelayMetrics, lanes: LaneRulesTable, quotas: QuotaKeeper
  ) {
    self.metrics = metrics
    self.quotas = quotas
    self.lanes = lanes
    self.store = store
    self.loop = loop
    self.clock = clock
    self.log = log
    stories = EnvelopeLog(log: log, store: store, loop: loop)
    self.meter = meter
    surveyor = LaneSurveyor(clock: { clock().monotonic })
    tracer = Tracer(store: store, loop: loop, log: log)
    history = HistoryKeeper(store: store, loop: loop, clock: clock, log: log)
    needs = NeedsKeeper(loop: loop, clock: clock, log: log) { [listeners] in listeners.ring() }
    gaps = GapKeeper(store: store, rules: lanes, loop: loop, clock: clock, log: log)
    commitListeners = CommitListeners(
      beforeScheduling: [quotas, stories, tracer],
      afterScheduling: [waiters, meter, metrics, history, deadlines, gaps, needs, listeners])
    state = Mutex(State(scheduler: Scheduler(upstreams: [:], epoch: 1, seed: 0, now: clock())))
  }

  // MARK: - Events

  /// Applies an event, and carries out what follows from it.
  @discardableResult
  func apply<Result: Sendable>(
    _ event: (inout State, Now) -> Result
  ) -> Result {
    apply(at: clock(), event) { $0 }
  }

  /// Applies an event, answers it, and carries out what follows from it.
  ///
  /// - Parameter answer: Called once the lock has been let go, and before anything is carried out.
  func apply<Result: Sendable, Answer>(
    at now: Now, _ event: (inout State, Now) -> Result, answer: (Result) -> Answer
  ) -> Answer {
    let (result, work) = state.withLock { state -> (Result, Work) in
      let result = event(&state, now)
      state.runs.lookAround(in: &state.scheduler, now: now)
      return (result, takeWork(from: &state, now: now))
    }
    let answered = answer(result)
    carryOut(work)
    return answered
  }

  /// Attempts ended, or were called off.
  func attemptsEnded(_ requests: AttemptBatch) {
    var requests = requests
    for long in takeLong(from: &requests) {
      // Its envelopes are under way until then, so nothing passes them.
      Task.detached { [self] in attemptsEnded(parted(long)) }
    }
    if !requests.isEmpty { attemptsEnded(parted(requests)) }
  }

  private func attemptsEnded(_ ended: EndedAttempts) {
    let batch = ended.batch
    if log.isOn(.debug) { tell(calledOff: batch.calledOff) }
    tracer.ended(batch)
    apply(at: clock()) { state, now in
      for report in ended.single { state.scheduler.attemptEnded(report, now: now) }
      let verdicts = ended.together.map { batch in
        state.scheduler.batchEnded(
          batch.reports, subject: batch.subject,
          bytes: batch.request.target.isRetired ? nil : batch.request.bytes, now: now)
      }
      for serial in batch.withdrawn { state.scheduler.attemptWithdrawn(serial, now: now) }
      return verdicts
    } answer: { verdicts in
      for (verdict, batch) in zip(verdicts, ended.together) { note(verdict, of: batch) }
    }
  }

  /// Deadlines have passed.
  ///
  /// - Returns: How many ends of envelopes behind a head are on their way to the disk.
  func expire(_ entries: [LineEntry]) -> Int {
    apply { state, now in
      for entry in entries { state.scheduler.expire(entry, now: now) }
      return state.scheduler.changingCount
    }
  }

  private func rang(_ setting: Alarm.Setting) {
    apply { state, now in
      guard state.alarm.rang(setting) else { return }
      state.scheduler.timePassed(now: now)
    }
  }

  // MARK: - Actions

  /// The work to do once the lock is released.
  private struct Work {
    var attempts: [AttemptRequest] = []
    var loads: [PendingLoad] = []
    /// Those that go together.
    var batches: [PendingBatch] = []
    /// Those whose turn comes next in lanes that are being attempted.
    var readAhead: ContentCache.Reading
    var records: [Transition] = []
    var lines: [LineQuestion] = []
    var reachability: [(UpstreamNumber, isReachable: Bool, reason: String?)] = []
    /// Upstreams that have begun to say that requests come too fast.
    var holds: [(UpstreamNumber, forMs: Int64, reason: String)] = []
    /// Upstreams for which requests were too large.
    var ceilings: [(UpstreamNumber, refusedBytes: Int, bytesMax: Int)] = []
    /// The upstreams whose reachability is to be logged.
    var notes: [UpstreamNumber] = []
    var alarm: Alarm.Setting?
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    var forwarder: Forwarder?
    var runs = RunWork()
  }

  private func takeWork(from state: inout State, now: Now) -> Work {
    waitingCountNow.store(state.scheduler.waitingCount, ordering: .relaxed)
    var work = Work(readAhead: state.contents.beginReading(), forwarder: state.forwarder)
    work.runs = RunWork(takenFrom: &state.runs)
    for action in state.scheduler.takeActions() {
      // Consumed, so that what it carries is moved and not copied.
      switch consume action {
      case .attempt(let entry):
        let load = PendingLoad(entry: entry)
        if let content = state.contents.take(entry.serial), let request = request(content, load) {
          work.attempts.append(request)
        } else {
          work.loads.append(load)
        }
        if let next = state.scheduler.next(behindHeadOf: entry.lane) {
          state.contents.expect(next, in: &work.readAhead)
        }
      case .attemptTogether(let entries, let bytesMax):
        var batch = PendingBatch(entries: entries, bytesMax: bytesMax)
        for entry in entries { batch.contents[entry.serial] = state.contents.take(entry.serial) }
        for serial in state.scheduler.next(behind: entries) {
          state.contents.expect(serial, in: &work.readAhead)
        }
        work.batches.append(batch)
      case .verify(let entry): work.loads.append(PendingLoad(entry: entry, isVerification: true))
      case .record(let transition): work.records.append(transition)
      case .readLine(let serial): work.lines.append(.after(serial))
      case .readLineBackwards(let serial): work.lines.append(.before(serial))
      case .upstreamHeld(let upstream, let forMs, let reason):
        work.holds.append((upstream, forMs, reason))
      case .batchCeilingLowered(let upstream, let refusedBytes, let bytesMax):
        work.ceilings.append((upstream, refusedBytes, bytesMax))
      case .reachabilityChanged(let upstream, let isReachable, let reason):
        work.reachability.append((upstream, isReachable, reason))
        if noteReachability(of: upstream, isReachable, reason) { work.notes.append(upstream) }
      }
    }
    if !state.isStopped { work.alarm = state.alarm.set(for: state.scheduler.nextWake) }
    if state.isStopped, state.scheduler.inFlightCount == 0, !state.idleWaiters.isEmpty {
      work.idleWaiters = state.idleWaiters
      state.idleWaiters = []
    }
    return work
  }

  private func carryOut(_ work: Work) {
    if !work.records.isEmpty { store.record(work.records) }
    if !work.attempts.isEmpty { submit(work.attempts, to: work.forwarder) }
    for batch in work.batches { begin(batch) }
    if !work.loads.isEmpty { load(work.loads) }
    if !work.readAhead.serials.isEmpty { readAhead(work.readAhead) }
    for question in work.lines { readLine(question) }
    if let alarm = work.alarm {
      alarmTimer.set(alarm, on: loop) { [weak self] in self?.rang(alarm) }
    }
    for change in work.reachability { logReachability(change) }
    for hold in work.holds { logHold(hold) }
    for ceiling in work.ceilings { logCeiling(ceiling) }
    for upstream in work.notes { writeNote(of: upstream) }
    for waiter in work.idleWaiters { waiter.resume() }
    carryOut(work.runs)
  }

  func submit(_ requests: [AttemptRequest], to forwarder: Forwarder?) {
    tell(attempts: requests)
    guard store.mayAttempt else { return suspend(withdrawing: requests.map(\.serial)) }
    guard let forwarder, forwarder.submit(requests) else {
      return withdraw(requests.map(\.serial))
    }
  }

  func withdraw(_ serials: [Serial]) {
    tell(calledOff: serials)
    tracer.withdrawn(serials)
    for serial in serials { _ = batchesInFlight.takeAlone(serial) }
    apply { state, now in
      for serial in serials { state.scheduler.attemptWithdrawn(serial, now: now) }
    }
  }

  /// The forwarder's request; nil if another configuration has come in between, by which the
  /// scheduler decides anew, and if what goes to another relay still lacks its terms.
  func request(_ envelope: DeliverableEnvelope, _ load: PendingLoad) -> AttemptRequest? {
    let entry = load.entry
    guard let target = targets.withLock({ $0[entry.upstream] }) else { return nil }
    var request = AttemptRequest(
      envelope, attempt: entry.attempts + 1, acceptedAt: entry.acceptedAt, target: target)
    if load.isVerification {
      guard let content = target.verification?.content(for: envelope) else { return nil }
      request.content = content
      request.isVerification = true
    }
    if let batch = target.batch, !load.isVerification {
      if let upstream = batch.upstream {
        guard let terms = load.terms else { return nil }
        request.handOn(HandedOn(envelope, entry, terms, to: upstream))
      } else {
        request.responseBodyBytesMax = target.readAloneBytesMax
      }
      batchesInFlight.add(alone: entry.serial, to: target)
    }
    tracer.begin(&request, of: envelope, in: entry.lane)
    return request
  }

  private func logReachability(
    _ change: (upstream: UpstreamNumber, isReachable: Bool, reason: String?)
  ) {
    let name = targets.withLock { $0[change.upstream]?.name } ?? ""
    if change.isReachable {
      log.repeating(
        .info, "upstream is reachable again", about: name, .usual, ("upstream", .text(name)))
    } else {
      log.repeating(
        .warning, "upstream is unreachable", about: name, .usual, ("upstream", .text(name)),
        ("reason", .text(change.reason ?? "")))
    }
  }

  private func logHold(_ hold: (upstream: UpstreamNumber, forMs: Int64, reason: String)) {
    let name = targets.withLock { $0[hold.upstream]?.name } ?? ""
    log.repeating(
      .info, "upstream wants fewer requests", about: name, .usual, ("upstream", .text(name)),
      ("reason", .text(hold.reason)), ("waitMs", .integer(hold.forMs)))
  }
}
