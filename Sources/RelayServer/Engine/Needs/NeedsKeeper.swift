import EventLoop
import RelayCore
import Synchronization

/// Keeps the list of what needs somebody.
///
/// It looks anew every ``periodMs``, and when somebody asks. Each change of the list stands in the
/// log, and wakes those who watch `/status`. Whoever is told is told of what the looks of its own
/// find, so that nobody has a message sent by asking.
package final class NeedsKeeper: Sendable {
  /// The time between two looks, in milliseconds.
  static let periodMs = NeedNews.periodMs
  /// The time for which a look is good for those whom nobody knows, in milliseconds.
  static let strangersMs: Int64 = 100

  /// What a look works with, and keeps for the next one.
  struct Memory: Sendable {
    var blocked = BlockedGroups()
    var examples = NeedExamples()
  }

  /// Gathers the facts of one look.
  typealias Gathering = @Sendable (NeedsKeeper, inout Memory) async -> NeedFacts

  /// Tells somebody of the list; called by one at a time.
  typealias Notifying = @Sendable ([Need]) async -> Void

  fileprivate struct State {
    var outcomes = OutcomeWindow()
    var news = RefusedNews()
    var changedHeads = ChangedHeads()
    var book = NeedBook()
    var memory = Memory()
    var gather: Gathering?
    var notify: Notifying?
    /// When the last look that is over began.
    var lookedAt: MonotonicTime?
    /// The number of changes that make a look too old, and their number when that one began.
    var changeCount = 0
    var seenCount = 0
    /// The same of the look that is under way; nil if none is.
    var underWay: (beganAt: MonotonicTime, seenCount: Int)?
    var waiting: [UnsafeContinuation<Void, Never>] = []
    var timer: ScheduledTimer?
  }

  private let loop: EventLoop
  private let clock: @Sendable () -> Now
  private let log: Log
  private let tellChange: @Sendable () -> Void
  private let state = Mutex(State())

  /// Knows nothing yet.
  ///
  /// - Parameter tellChange: Wakes those who watch the list.
  init(
    loop: EventLoop, clock: @escaping @Sendable () -> Now, log: Log,
    tellChange: @escaping @Sendable () -> Void
  ) {
    self.loop = loop
    self.clock = clock
    self.log = log
    self.tellChange = tellChange
  }

  // MARK: - Beginning and ending

  /// From now on whoever asks has it looked: an empty list means that nobody is needed.
  func open(_ gather: @escaping Gathering) { state.withLock { $0.gather = gather } }

  /// Begins to look by itself, and to tell of it.
  func start(telling notify: @escaping Notifying) {
    state.withLock { $0.notify = notify }
    arm(afterMs: 0)
  }

  /// Looks no more.
  func stop() {
    let timer = state.withLock { state in
      state.gather = nil
      state.notify = nil
      defer { state.timer = nil }
      return state.timer
    }
    _ = timer?.cancel()
  }

  private func arm(afterMs milliseconds: Int64) {
    state.withLock { state in
      guard state.gather != nil else { return }
      _ = state.timer?.cancel()
      state.timer = loop.schedule(afterMs: milliseconds) { [weak self] in self?.ring() }
    }
  }

  private func ring() {
    Task(executorPreference: loop) { [weak self] in await self?.lookAndTell() }
  }

  private func lookAndTell() async {
    let list = await needs()
    let notify = state.withLock { $0.notify }
    await notify?(list)
    arm(afterMs: Self.periodMs)
  }

  // MARK: - Asking

  /// The list as of now.
  ///
  /// - Parameter ageMs: How old it may be, in milliseconds.
  func needs(ageMs: Int64 = 0) async -> [Need] {
    let oldest = clock().monotonic.adding(milliseconds: -ageMs)
    let wanted = state.withLock { $0.changeCount }
    while state.withLock({ !$0.isFresh(since: oldest, after: wanted) }) { await look() }
    return known
  }

  /// Something has changed: whoever asks from now on has it looked at.
  func expire() { state.withLock { $0.changeCount += 1 } }

  /// The list as of the last look.
  var known: [Need] { state.withLock { $0.book.needs } }

  /// How many things need somebody as of the last look, those included that are not listed.
  var counts: NeedCounts { state.withLock { $0.book.counts } }

  /// What has changed of the heads of blocked lanes since the last look.
  func takeChangedHeads() -> ChangedHeads {
    state.withLock { state in
      defer { state.changedHeads = ChangedHeads() }
      return state.changedHeads
    }
  }

  /// What an upstream made of envelopes lately.
  struct Outcomes {
    var figures: OutcomeWindow.Figures
    /// The latest envelope that it did not take, and since when none has got through.
    var failure: (sample: OutcomeWindow.Sample, since: WallTime)?
    var deadLetters: OutcomeWindow.DeadLetters?
    var expired: OutcomeWindow.Sample?
  }

  /// What an upstream made of envelopes lately.
  func outcomes(of upstream: UpstreamNumber, at now: Now) -> Outcomes {
    state.withLock { state in
      Outcomes(
        figures: state.outcomes.figures(of: upstream, at: now.monotonic),
        failure: state.outcomes.failure(of: upstream),
        deadLetters: state.outcomes.deadLetters(of: upstream, at: now.wall),
        expired: state.outcomes.expired(of: upstream))
    }
  }

  /// The refused messages of what needs somebody, and the lane in which messages stand.
  var refusedNews: RefusedNews { state.withLock { $0.news } }

  // MARK: - Looking

  /// Looks once; who asks meanwhile waits for the same look.
  private func look() async {
    let begun = state.withLock { $0.begin(at: clock().monotonic) }
    guard let (gather, taken) = begun else { return await waitForLook() }
    var memory = taken
    let facts = await gather(self, &memory)
    let (changes, waiting) = state.withLock { [memory] in $0.end(memory, facts) }
    for change in changes { tell(change) }
    if !changes.isEmpty { tellChange() }
    for continuation in waiting { continuation.resume() }
  }

  private func waitForLook() async {
    await withUnsafeContinuation { continuation in
      let isOver = state.withLock { state in
        if state.underWay != nil { state.waiting.append(continuation) }
        return state.underWay == nil
      }
      if isOver { continuation.resume() }
    }
  }

  /// What the log says of a need, without what there is not.
  private static func fields(of need: Need, isOver: Bool = false) -> [Log.Field] {
    var fields: [Log.Field] = [("kind", .text(need.key.kind.rawValue))]
    if !isOver { fields.append(("severity", .text(need.severity.rawValue))) }
    if let upstream = need.key.upstream { fields.append(("upstream", .text(upstream))) }
    fields.append(("what", .text(need.title)))
    if !isOver, let cause = need.cause { fields.append(("cause", .text(cause))) }
    return fields
  }

  private func tell(_ change: NeedBook.Change) {
    switch change {
    case .began(let need), .changed(let need), .lasted(let need):
      let level: LogConfiguration.Level = need.severity == .critical ? .error : .warning
      log.write(level, "somebody is needed", fields: Self.fields(of: need))
    case .ended(let need):
      log.write(.info, "somebody is needed no more", fields: Self.fields(of: need, isOver: true))
    }
  }
}

extension NeedsKeeper.State {
  /// Whether there is nothing to look at: the last look is new enough, or nobody looks.
  fileprivate func isFresh(since oldest: MonotonicTime, after change: Int) -> Bool {
    guard gather != nil else { return true }
    guard let lookedAt, seenCount >= change else { return false }
    return lookedAt >= oldest
  }

  /// Begins a look; nil if one is under way, or nobody looks.
  fileprivate mutating func begin(
    at now: MonotonicTime
  ) -> (NeedsKeeper.Gathering, NeedsKeeper.Memory)? {
    guard underWay == nil, let gather else { return nil }
    underWay = (now, changeCount)
    // Moved, since a copy of it would be made at the first change.
    defer { memory = NeedsKeeper.Memory() }
    return (gather, memory)
  }

  fileprivate mutating func end(
    _ memory: NeedsKeeper.Memory, _ facts: NeedFacts
  ) -> (changes: [NeedBook.Change], waiting: [UnsafeContinuation<Void, Never>]) {
    if let look = underWay { (lookedAt, seenCount) = (look.beganAt, look.seenCount) }
    underWay = nil
    self.memory = memory
    defer { waiting = [] }
    return (book.update(facts), waiting)
  }
}

extension NeedsKeeper: CommitListener {
  /// Counts what upstreams made of envelopes.
  package func committed(_ commit: Commit, at now: Now) {
    if commit.damage != nil { expire() }
    for change in commit.changes {
      switch change {
      case .changed(let transitions):
        state.withLock { state in
          state.outcomes.count(transitions, at: now)
          state.news.changed(transitions)
          state.changedHeads.note(transitions)
        }
      case .endsChanged(let changes):
        state.withLock { state in
          state.outcomes.count(changes)
          state.news.endsChanged(changes)
        }
      case .coalesced(let envelopes): state.withLock { $0.changedHeads.note(envelopes) }
      case .accepted(let envelopes):
        state.withLock { state in for envelope in envelopes { state.news.accepted(envelope) } }
      case .unwritten, .cleared: break
      }
    }
  }
}
