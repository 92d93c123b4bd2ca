@testable import RelayCore
@testable import StoreModel

/// The scheduler against simulated devices, disk and upstreams, with simulated time and crashes.
///
/// Everything comes from the seed: the same seed gives the same run. Each step checks the promises
/// of the design; the first that does not hold ends the run.
struct Simulation {
  enum Event {
    case post(device: Int)
    case append(Posts)
    case commitPosts(Posts, replacing: [Serial: LaneNumber], isRolledBack: Bool)
    case commitRecord(Transition)
    case commitFlow(LaneNumber)
    case commitClearing(
      BacklogSelection, through: Serial, SparedEnvelopes, isRolledBack: Bool)
    case attemptEnds(AttemptReport)
    case batchEnds([AttemptReport], BatchAnswerSubject)
    case lineRead(question: Int)
    case linePage(LinePage, question: Int)
    case wake(Alarm.Setting)
    case moodChanges(upstream: Int)
    case walkForExpired
    case clockIsSet
    case configurationChanges
    case shardMoves
    case crash
  }

  struct Scheduled: Sendable {
    var life: Int
    var event: Event
  }

  let seed: UInt64
  var random: SplitMix64
  var clock = Now(wall: epoch, monotonic: MonotonicTime(nanoseconds: 0))
  var agenda = TimerQueue<Scheduled>()
  var scheduler: Scheduler
  var runs = RunBook()
  var store = ModelTables()
  var upstreams: [SimulatedUpstream]
  var devices: [SimulatedDevice]
  /// Grows with each start of the relay; what an earlier life had under way is lost with it.
  var life = 0
  var eventCount = 0
  var inFlight: Set<Serial> = []
  /// What the store is about to replace.
  var reserved: Set<Serial> = []
  /// What the present event's commit has put in line or replaced.
  var told: Set<Serial> = []
  /// Whether the scheduler has been told of that commit, or is being told.
  var isTold = true
  var coalescedCount = 0
  /// Clients whose backlog the store is about to cancel.
  var clearing: Set<ClientNumber> = []
  var clearedCount = 0
  /// How often a part of what waited was cancelled, and not all of it.
  var partClearedCount = 0
  /// What had ended and was kept long enough.
  var deleted: Set<EnvelopeID> = []
  var batchCount = 0
  var refusedBatchCount = 0
  /// How many posts had been forgotten, but for their keys.
  var rememberedCount = 0
  var editCount = 0
  var endedChangeCount = 0
  /// How many changes could not be written, and how many of them were quarantines.
  var unwrittenCount = 0
  var unwrittenQuarantineCount = 0
  /// What stretch of the line the scheduler waits to see; nil if it waits for none.
  var lineQuestion: LineQuestion?
  var lineQuestionCount = 0
  var alarm = Alarm()
  var lastCommitAt = MonotonicTime(nanoseconds: 0)
  var violations: [String] = []
  var attemptCount = 0
  var paced = PacedRequests()
  var verificationCount = 0
  /// How many envelopes went together with others, and how many requests went again in halves.
  var batchedCount = 0
  var halvedCount = 0
  var crashCount = 0
  var commandCount = 0
  var pauseCount = 0
  var configurationCount = 0
  var parkedCount = 0
  var placedCount = 0
  var skipCount = 0
  var voidCount = 0
  var runCount = 0
  /// Which lanes wait for sequence numbers.
  var watch = GapWatch()
  var isFaultFree = false
  /// By how much the machine's clock has been set; only every other seed sets it.
  var wallOffsetMs: Int64 = 0
  var settled = SettledTime(settleMs: 20_000)
  /// The latest time that the relay has gone by.
  var latestWall = epoch
  /// How often the clock was set by a day or more.
  var clockLeapCount = 0
  var wasClockSetBack = false
  /// Until when a lane of the order `latest` waits with its attempts at an upstream, and for whom.
  var backoffs: [BackoffName: (serial: Serial, until: WallTime)] = [:]

  /// The epochs of the shards that the relay holds, if it holds them one by one.
  var epochs: [Int: Int64] = [:]
  var epochCount: Int64 = 0
  var shardMoveCount = 0

  static let devicesMax = 24
  static let upstreamCount = 4
  /// The numbers that the store gives the upstreams, in their order.
  static let upstreamNumbers = (1...upstreamCount).map { UpstreamNumber(rawValue: Int32($0)) }
  static func upstreamName(_ index: Int) -> String { "\(index)" }
  static let epoch = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    upstreams = Array(repeating: SimulatedUpstream(), count: Self.upstreamCount)
    devices = (0..<Self.devicesMax).map { SimulatedDevice(number: $0) }
    scheduler = Self.freshScheduler(seed: seed, isSharded: seed % 5 >= 3, now: clock)
    for index in upstreams.indices { _ = store.number(ofUpstream: Self.upstreamName(index)) }
    takeShards()
    for device in devices.indices { schedule(.post(device: device), inMs: Int64(device)) }
    for upstream in upstreams.indices { schedule(.moodChanges(upstream: upstream), inMs: 2000) }
    schedule(.walkForExpired, inMs: 1000)
    schedule(.crash, inMs: 30_000)
    schedule(.configurationChanges, inMs: 5000)
    if seed % 2 == 0 { schedule(.clockIsSet, inMs: 10_000) }
    if isSharded { schedule(.shardMoves, inMs: 3000) }
  }

  /// The rate of the first two upstreams, which is not to be passed.
  ///
  /// The second one's attempts are announced first.
  static let rate = RateLimit(perSecond: 20, burst: 3)

  /// What is configured, unless something is taken out for a while.
  static let policies = {
    var policies: [UpstreamNumber: UpstreamPolicy] = [:]
    for (number, upstream) in upstreamNumbers.enumerated() {
      policies[upstream] = UpstreamPolicy(
        concurrencyMax: 2 + number, rate: number < 2 ? rate : nil,
        retry: RetryPolicy(
          firstDelayMs: 100, maxDelayMs: 20_000, factor: 2, retryAfterMaxMs: 60_000),
        reachability: ReachabilityPolicy(
          failuresBeforeUnreachable: 3, firstProbeDelayMs: 200, maxProbeDelayMs: 10_000),
        ambiguity: ambiguity(ofUpstream: number),
        batch: number == upstreamCount - 1 ? batchPolicy : nil)
    }
    return policies
  }()

  static func ambiguity(ofUpstream index: Int) -> AmbiguityPolicy {
    AmbiguityPolicy.allCases[index % AmbiguityPolicy.allCases.count]
  }

  /// Small windows and few slots, so that sweeps and waits for a slot are the rule.
  static func freshScheduler(seed: UInt64, isSharded: Bool, now: Now) -> Scheduler {
    let limits = Scheduler.Limits(windowEntriesMax: 40, laneWindowMin: 2)
    guard !isSharded else {
      return Scheduler(shardsOf: policies, limits: limits, seed: seed, now: now)
    }
    return Scheduler(upstreams: policies, limits: limits, epoch: 1, seed: seed, now: now)
  }

  mutating func schedule(_ event: Event, inMs delay: Int64) {
    agenda.insert(
      Scheduled(life: life, event: event), at: clock.monotonic.adding(milliseconds: delay))
  }

  /// Runs until the given number of events have happened, then ends the faults and lets everything
  /// run out.
  mutating func run(events: Int) {
    while eventCount < events && violations.isEmpty, step() {}
    endFaults()
    while violations.isEmpty && !store.line.isEmpty && eventCount < events * 4, step() {}
    checkEnd()
  }

  private mutating func step() -> Bool {
    guard let time = agenda.earliest, let next = agenda.popDue(at: time) else { return false }
    advance(to: time)
    // The clock may have been set, and what follows from that comes before the event.
    carryOutActions()
    guard next.life == life || next.event.outlivesTheRelay else { return true }
    eventCount += 1
    happen(next.event)
    carryOutActions()
    told = []
    checkNoSlotIsIdle()
    checkRuns()
    checkWaits()
    if eventCount % 32 == 0 { checkCounts() }
    return true
  }

  private mutating func happen(_ event: Event) {
    switch event {
    case .post(let device): post(device)
    case .append(let posts): append(posts)
    case .commitPosts(let posts, let serials, let isRolledBack):
      commit(posts, replacing: serials, isRolledBack: isRolledBack)
    case .commitRecord(let transition) where isRefused(transition): break
    case .commitRecord(let transition) where isLost(transition):
      transact { _, commit in commit.changes.append(.unwritten([transition])) }
    case .commitRecord(let transition):
      noteBackoff(by: transition)
      noteWishToSendAgain(transition)
      checkDeadline(of: transition)
      transact { (store, commit) throws(StoreError) in
        try store.record([transition], in: &commit)
      }
    case .commitFlow(let lane): flow(lane)
    case .commitClearing(let selection, let serial, let spared, let isRolledBack):
      clear(selection, through: serial, besides: spared, isRolledBack: isRolledBack)
    case .attemptEnds(let report):
      inFlight.remove(report.serial)
      scheduler.attemptEnded(report, now: clock)
    case .batchEnds(let reports, let subject): batchEnds(reports, subject)
    case .lineRead(let question): readLine(question)
    case .linePage(let page, let question): handOver(page, question)
    case .wake(let setting): if alarm.rang(setting) { scheduler.timePassed(now: clock) }
    case .moodChanges(let upstream): changeMood(of: upstream)
    case .walkForExpired: walkForExpired()
    case .clockIsSet: setClock()
    case .configurationChanges: changeConfiguration()
    case .shardMoves: moveShard()
    case .crash: crash()
    }
  }

  mutating func carryOutActions() {
    while true {
      carryOutRuns()
      let actions = scheduler.takeActions()
      guard !actions.isEmpty else { break }
      for action in actions { carryOut(action) }
    }
    guard let setting = alarm.set(for: scheduler.nextWake) else { return }
    let soonest = MonotonicTime(nanoseconds: clock.monotonic.nanoseconds + 1)
    agenda.insert(Scheduled(life: life, event: .wake(setting)), at: max(setting.due, soonest))
  }

  private mutating func carryOut(_ action: Scheduler.Action) {
    switch action {
    case .attempt(let entry): attempt(entry)
    case .attemptTogether(let entries, let bytesMax):
      attemptTogether(entries, bytesMax: bytesMax)
    case .verify(let entry): verify(entry)
    case .record(let transition):
      checkLease(of: transition.serial, in: transition.lane, epoch: transition.epoch)
      if transition.change == .begin, let entry = store.place(of: transition.serial) {
        checkIsFirst(entry)
      }
      agenda.insert(Scheduled(life: life, event: .commitRecord(transition)), at: commitTime())
    case .reachabilityChanged, .upstreamHeld, .batchCeilingLowered: break
    case .readLine(let after): ask(.after(after))
    case .readLineBackwards(let before): ask(.before(before))
    }
  }

  mutating func attempt(_ entry: LineEntry) {
    attemptCount += 1
    checkPace(of: entry.upstream)
    checkLease(of: entry.serial, in: entry.lane)
    checkOrder(of: entry)
    checkNotTaken(entry)
    if !entry.isInDoubt { checkIsFirst(entry) }
    inFlight.insert(entry.serial)
    guard let content = store.envelopes[entry.serial]?.draft.content else { return }
    let ending = upstreams[Self.index(entry.upstream)].attempt(
      entry.serial, content: Self.number(in: content), random: &random)
    end(entry, ending)
  }

  private mutating func verify(_ entry: LineEntry) {
    verificationCount += 1
    checkPace(of: entry.upstream)
    checkOrder(of: entry)
    checkIsFirst(entry)
    inFlight.insert(entry.serial)
    end(entry, upstreams[Self.index(entry.upstream)].verify(entry.serial, random: &random))
  }

  private mutating func end(_ entry: LineEntry, _ ending: SimulatedUpstream.Ending) {
    schedule(
      .attemptEnds(
        AttemptReport(
          serial: entry.serial, event: ending.event, startedAt: clock.wall,
          durationMs: ending.durationMs, isWritten: ending.isWritten)),
      inMs: ending.durationMs)
  }
}

extension Simulation.Event {
  /// Devices, upstreams and plugs go on when the relay is dead; what it had under way does not.
  var outlivesTheRelay: Bool {
    switch self {
    case .post, .moodChanges, .crash, .walkForExpired, .clockIsSet, .configurationChanges,
      .shardMoves:
      true
    case .append, .commitPosts, .commitRecord, .commitFlow, .commitClearing,
      .attemptEnds, .batchEnds, .lineRead, .linePage, .wake:
      false
    }
  }
}
