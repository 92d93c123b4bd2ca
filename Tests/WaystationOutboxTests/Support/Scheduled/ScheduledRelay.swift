@testable import RelayCore
@testable import StoreModel
@testable import WaystationOutboxTesting

/// A relay of the real rules and the real scheduler, over tables in memory, and its upstream.
///
/// What a device is told is written by a ``RelayModel``, which ``show(in:)`` keeps as the tables
/// have it. What is decided and not committed yet is lost when the relay is killed.
struct ScheduledRelay {
  enum Event {
    case commit(Transition)
    case attemptEnds(AttemptReport)
    case wake(Alarm.Setting)
    case lineRead(after: Serial)
    case lineReadBackwards(before: Serial)
    case moodChanges
    case kill
  }

  struct Scheduled {
    let life: Int
    let event: Event
  }

  static let client = "device"
  static let upstreamName = "default"
  static let upstreamNumber = UpstreamNumber(rawValue: 1)
  /// Small windows and few slots, so that sweeps and waits for a slot are the rule.
  private static let limits = Scheduler.Limits(windowEntriesMax: 12, laneWindowMin: 2)
  private static let policy = UpstreamPolicy(
    concurrencyMax: 2,
    retry: RetryPolicy(firstDelayMs: 100, maxDelayMs: 5000, factor: 2, retryAfterMaxMs: 60_000),
    reachability: ReachabilityPolicy(
      failuresBeforeUnreachable: 3, firstProbeDelayMs: 200, maxProbeDelayMs: 5000))

  let rules = ModelRules()
  var tables = ModelTables()
  var scheduler: Scheduler
  var upstream = RememberingUpstream()
  var random: SplitMix64
  var clock: Now
  var agenda = TimerQueue<Scheduled>()
  var alarm = Alarm()
  /// Grows with each start; what an earlier life had under way is lost with it.
  var life = 0
  var lastCommitAt = MonotonicTime(nanoseconds: 0)
  var isFaultFree = false
  /// The keys of what has ended since the model was shown it last, in that order.
  var newEnds: [String] = []
  /// The digests of items and what devices have signed of them, by their keys.
  var signed: [String: (digest: [UInt8], signature: String?)] = [:]
  /// What does not hold.
  var violations: [String] = []
  var killCount = 0
  var attemptCount = 0

  init(seed: UInt64, wallMs: Int64) {
    random = SplitMix64(seed: seed)
    clock = Now(
      wall: WallTime(millisecondsSinceEpoch: wallMs), monotonic: MonotonicTime(nanoseconds: 0))
    scheduler = Self.freshScheduler(seed: seed, now: clock)
    _ = tables.number(ofUpstream: Self.upstreamName)
    schedule(.moodChanges, inMs: 2000)
    schedule(.kill, inMs: 20_000)
  }

  private static func freshScheduler(seed: UInt64, now: Now) -> Scheduler {
    Scheduler(
      upstreams: [upstreamNumber: policy], limits: limits, epoch: 1, seed: seed, now: now)
  }

  // MARK: - Time

  mutating func schedule(_ event: Event, inMs delay: Int64) {
    agenda.insert(
      Scheduled(life: life, event: event), at: clock.monotonic.adding(milliseconds: delay))
  }

  /// Lives for a while.
  mutating func pass(milliseconds: Int64, _ model: inout RelayModel) {
    let end = clock.monotonic.adding(milliseconds: milliseconds)
    while let time = agenda.earliest, time <= end { happenNext(&model) }
    advance(to: end)
    show(in: &model)
  }

  /// Lets happen what comes next.
  mutating func happenNext(_ model: inout RelayModel) {
    guard let time = agenda.earliest, let next = agenda.popDue(at: time) else { return }
    advance(to: time)
    guard next.life == life || next.event.outlivesTheRelay else { return }
    happen(next.event, &model)
    carryOutActions(&model)
  }

  private mutating func advance(to time: MonotonicTime) {
    let passed = max(0, time.milliseconds(since: clock.monotonic))
    clock.monotonic = max(time, clock.monotonic)
    clock.wall = clock.wall.adding(milliseconds: passed)
  }

  private mutating func happen(_ event: Event, _ model: inout RelayModel) {
    switch event {
    case .commit(let transition):
      transact { tables, commit throws(StoreError) in
        try tables.record([transition], in: &commit)
      }
    case .attemptEnds(let report): scheduler.attemptEnded(report, now: clock)
    case .wake(let setting): if alarm.rang(setting) { scheduler.timePassed(now: clock) }
    case .lineRead(let serial):
      scheduler.refill(tables.page(after: serial, countMax: 4), now: clock)
    case .lineReadBackwards(let serial):
      scheduler.refill(tables.page(before: serial, countMax: 4), now: clock)
    case .moodChanges:
      guard !isFaultFree else { return }
      upstream.mood = RememberingUpstream.Mood.allCases.randomElement(using: &random) ?? .down
      schedule(.moodChanges, inMs: Int64.random(in: 500...20_000, using: &random))
    case .kill:
      guard !isFaultFree else { return }
      restart()
      schedule(.kill, inMs: Int64.random(in: 1000...20_000, using: &random))
    }
  }

  // MARK: - Lives

  /// Only what was committed is left; the relay starts anew from it.
  mutating func restart() {
    life += 1
    killCount += 1
    alarm = Alarm()
    scheduler = Self.freshScheduler(seed: random.next(), now: clock)
    scheduler.restorePauses(tables.pauses)
    var after: Serial = 0
    while true {
      let page = tables.page(after: after, countMax: 4)
      scheduler.restore(page)
      after = page.scannedThrough
      if !page.hasMore { break }
    }
    scheduler.restored(now: clock)
  }

  /// The relay is put back, and starts anew; the upstream is not.
  mutating func restore(_ tables: ModelTables) {
    self.tables = tables
    newEnds = []
    restart()
  }

  /// The upstream is well from now on, and nobody kills the relay.
  mutating func endFaults() {
    isFaultFree = true
    upstream.mood = .healthy
  }
}

extension ScheduledRelay.Event {
  /// The upstream and whoever kills the relay go on when it is dead; what it had under way does
  /// not.
  fileprivate var outlivesTheRelay: Bool {
    switch self {
    case .moodChanges, .kill: true
    case .commit, .attemptEnds, .wake, .lineRead, .lineReadBackwards: false
    }
  }
}
