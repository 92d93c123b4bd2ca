/// All runs that are under way, and the number of those who wait for them.
///
/// A value beside the ``Scheduler``. It is told of each commit right after the scheduler, and after
/// every event it looks at the lanes that turned. It looks at a run only when something that the
/// run depends on has changed. A run continues until all of it is decided, even if nobody waits for
/// it, so that a second one with the same filter joins it.
package struct RunBook: Sendable {
  /// The number of a run, never given out twice while the relay runs.
  package typealias Number = Int64

  /// The limits on the number and size of runs.
  package enum Limits {
    /// Runs under way at once; at the limit, one that nobody waits for gives way.
    package static let runsMax = 64
    /// Envelopes in one run; one takes about 150 bytes.
    package static let membersMax = 10_000
  }

  /// The reason that a run could not begin.
  package enum Failure: Error, Sendable {
    /// The filter names more than ``Limits/membersMax`` envelopes.
    case tooLarge
    /// The store could not be read.
    case unreadable(StoreError)
  }

  /// The state of a run.
  package enum Stand: Sendable {
    /// Its members are being read.
    case collecting
    /// It is under way, or complete.
    case begun(ClientRun)
    /// It could not begin.
    case failed(Failure)
  }

  /// A head that is to be released, and the run that asks for it.
  package struct Release: Sendable, Equatable {
    /// The run.
    package var run: Number
    /// The head as the scheduler has it.
    package var head: LineEntry
    /// The relay's name for it.
    package var id: EnvelopeID
  }

  private struct Key: Hashable, Sendable {
    var client: ClientNumber
    var filter: RunFilter
  }

  private struct Entry: Sendable {
    var key: Key
    var failure: Failure?
    /// News of commits while its members were being read.
    var early: [(serial: Serial, news: RunNews)] = []
    /// The number of callers that wait for it.
    var attendants = 1
    /// The place taken by the caller that began it.
    let place: SharedPlaces.Place
  }

  private var entries: [Number: Entry] = [:]
  private var places = SharedPlaces()
  /// The runs that have begun; changed in place, since a copy of one is large.
  private var runs: [Number: ClientRun] = [:]
  /// The runs that a second caller joins: neither complete nor failed.
  private var underWay: [Key: Number] = [:]
  private var runsOfLane: [LaneNumber: Set<Number>] = [:]
  private var lastNumber: Number = 0
  private var orders: [Release] = []
  private var settled: [Number] = []

  /// No runs.
  package init() {}

  /// Whether there are no runs, and so nothing has to be reported.
  package var isEmpty: Bool { entries.isEmpty }

  // MARK: - Taking part

  /// Joins the run with this filter, or starts it; each call must be followed by ``leave(_:)``.
  ///
  /// - Parameters:
  ///   - holder: The caller, in whose share a new run counts.
  ///   - limits: The most runs at once, up to ``Limits/runsMax``.
  /// - Returns: The run, and whether it is new. A new run's members must be handed over by
  ///   ``begin(_:_:in:now:)``, or its failure by ``fail(_:_:)``.
  /// - Throws: The share that is used up by runs that somebody waits for.
  package mutating func join(
    _ filter: RunFilter, of client: ClientNumber, for holder: PlaceHolder, _ limits: PlaceLimits
  ) throws(SharedPlaces.Refusal) -> (number: Number, isNew: Bool) {
    let key = Key(client: client, filter: filter)
    if let number = underWay[key] {
      entries[number]?.attendants += 1
      return (number, false)
    }
    let place = try place(for: holder, limits)
    lastNumber += 1
    entries[lastNumber] = Entry(key: key, place: place)
    underWay[key] = lastNumber
    return (lastNumber, true)
  }

  /// The state of a run; nil if there is no such run any more.
  package func stand(of number: Number) -> Stand? {
    guard let entry = entries[number] else { return nil }
    if let failure = entry.failure { return .failed(failure) }
    return runs[number].map { .begun($0) } ?? .collecting
  }

  /// Leaves a run; one that is settled and has nobody left is forgotten.
  package mutating func leave(_ number: Number) {
    entries[number]?.attendants -= 1
    forgetIfSettled(number)
  }

  /// Takes a place, if need be that of a run that nobody waits for.
  private mutating func place(
    for holder: PlaceHolder, _ limits: PlaceLimits
  ) throws(SharedPlaces.Refusal) -> SharedPlaces.Place {
    while true {
      do throws(SharedPlaces.Refusal) {
        return try places.take(holder, limits)
      } catch {
        guard giveWay(to: error) else { throw error }
      }
    }
  }

  /// Forgets the oldest run that nobody waits for and whose place is in the share that is used up;
  /// false if there is none.
  private mutating func giveWay(to refusal: SharedPlaces.Refusal) -> Bool {
    let idle = entries.filter {
      $0.value.attendants == 0 && $0.value.place.makesRoom(after: refusal)
    }
    guard let oldest = idle.keys.min() else { return false }
    forget(oldest)
    return true
  }

  private mutating func forgetIfSettled(_ number: Number) {
    guard let entry = entries[number], entry.attendants == 0, underWay[entry.key] != number
    else { return }
    forget(number)
  }

  private mutating func forget(_ number: Number) {
    guard let entry = entries.removeValue(forKey: number) else { return }
    places.giveBack(entry.place)
    if underWay[entry.key] == number { underWay[entry.key] = nil }
    guard let run = runs.removeValue(forKey: number) else { return }
    for lane in run.lanes {
      runsOfLane[lane]?.remove(number)
      if runsOfLane[lane]?.isEmpty == true { runsOfLane[lane] = nil }
    }
  }

  // MARK: - Events

  /// Begins a new run with its members: those envelopes that waited at some moment since it was
  /// joined.
  package mutating func begin(
    _ number: Number, _ members: [RunMember], in scheduler: inout Scheduler, now: Now
  ) {
    guard let entry = entries[number] else { return }
    var run = ClientRun(members, namesEach: entry.key.filter.namesEach)
    for (serial, news) in entry.early { run.note(news, of: serial) }
    for lane in run.lanes { runsOfLane[lane, default: []].insert(number) }
    entries[number]?.early = []
    let lanes = run.pendingLanes
    runs[number] = run
    scheduler.notesTurns = true
    look(at: lanes, of: number, in: &scheduler, now: now)
  }

  /// Notes that a new run cannot begin.
  package mutating func fail(_ number: Number, _ failure: Failure) {
    entries[number]?.failure = failure
    entries[number]?.early = []
    settle(number)
  }

  /// Notes a committed change, after the scheduler.
  ///
  /// - Parameter client: The client of the lane, as the scheduler had it before the change.
  package mutating func recorded(
    _ transition: Transition, of client: ClientNumber?, in scheduler: inout Scheduler, now: Now
  ) {
    let numbers = runsOfLane[transition.lane]?.sorted() ?? []
    if let news = RunNews(transition) {
      for number in numbers { runs[number]?.note(news, of: transition.serial) }
      for number in collecting(of: client) {
        entries[number]?.early.append((transition.serial, news))
      }
    }
    for number in numbers { look(at: [transition.lane], of: number, in: &scheduler, now: now) }
  }

  /// Notes, after the scheduler, that a change could not be written: a head that it was to release
  /// is not released, and not asked for again.
  package mutating func unwritten(
    _ transition: Transition, in scheduler: inout Scheduler, now: Now
  ) {
    let state = scheduler.lane(transition.lane)?.head?.standing.state ?? .queued
    for number in runsOfLane[transition.lane]?.sorted() ?? [] {
      if case .release = transition.change {
        runs[number]?.note(.failed(state, RunNews.unwrittenReason), of: transition.serial)
      }
      look(at: [transition.lane], of: number, in: &scheduler, now: now)
    }
  }

  /// The runs of a client whose members are not known yet.
  private func collecting(of client: ClientNumber?) -> [Number] {
    entries.filter { $0.value.key.client == client && runs[$0.key] == nil }.keys.sorted()
  }

  /// Notes that a head could not be released; see ``takeOrders()``.
  package mutating func releaseRefused(
    _ number: Number, in lane: LaneNumber, _ scheduler: inout Scheduler, now: Now
  ) {
    runs[number]?.releaseRefused(in: lane)
    look(at: [lane], of: number, in: &scheduler, now: now)
  }

  /// Notes, after the scheduler, that all waiting envelopes of a client were cancelled.
  ///
  /// The runs learn of each envelope before they look at any lane, so that a cancelled envelope is
  /// not passed over for another reason.
  package mutating func cleared(
    _ backlog: ClearedBacklog, in scheduler: inout Scheduler, now: Now
  ) {
    let collecting = collecting(of: backlog.client)
    var touched: [Number: Set<LaneNumber>] = [:]
    for item in backlog.items {
      for number in runsOfLane[item.lane] ?? [] {
        runs[number]?.note(.cancelled, of: item.serial)
        touched[number, default: []].insert(item.lane)
      }
      for number in collecting { entries[number]?.early.append((item.serial, .cancelled)) }
    }
    for (number, lanes) in touched.sorted(by: { $0.key < $1.key }) {
      look(at: lanes.sorted(), of: number, in: &scheduler, now: now)
    }
  }

  /// Looks at all lanes after a pause began or ended, which may concern any of them.
  package mutating func lookAtAll(in scheduler: inout Scheduler, now: Now) {
    for number in runs.keys.sorted() {
      look(at: runs[number]?.pendingLanes ?? [], of: number, in: &scheduler, now: now)
    }
  }

  /// Looks at the lanes that may have turned since the last event, and at all lanes of the runs
  /// whose upstreams have changed.
  ///
  /// To be called after each event, whether there are runs or not.
  package mutating func lookAround(in scheduler: inout Scheduler, now: Now) {
    for lane in scheduler.takeTurned(isWatched: !runs.isEmpty).sorted() {
      for number in runsOfLane[lane]?.sorted() ?? [] {
        look(at: [lane], of: number, in: &scheduler, now: now)
      }
    }
    for number in runs.keys.sorted() {
      guard runs[number]?.noticeUpstreams(scheduler.standing) == true else { continue }
      look(at: runs[number]?.pendingLanes ?? [], of: number, in: &scheduler, now: now)
    }
  }

  private mutating func look(
    at lanes: [LaneNumber], of number: Number, in scheduler: inout Scheduler, now: Now
  ) {
    for lane in lanes {
      switch runs[number]?.look(at: lane, scheduler.runView(of: lane), now: now.wall) {
      case .release(let head, let id): orders.append(Release(run: number, head: head, id: id))
      // The scheduler's answer does not matter: its upstream is tried sooner, or no sooner.
      case .hasten(let head): _ = scheduler.obey(.run, of: head, now: now)
      case nil: break
      }
    }
    if runs[number]?.isComplete == true { settle(number) }
  }

  /// Ends a run that is complete or cannot begin: nobody joins it any more.
  private mutating func settle(_ number: Number) {
    guard let key = entries[number]?.key, underWay[key] == number else { return }
    underWay[key] = nil
    settled.append(number)
    forgetIfSettled(number)
  }

  /// The lanes that runs wait for: each moves, or is about to.
  var pendingLanes: Set<LaneNumber> {
    runs.values.reduce(into: []) { $0.formUnion($1.pendingLanes) }
  }

  // MARK: - Results

  /// The heads that are to be released; each is handed out once.
  ///
  /// The result comes by ``recorded(_:of:in:now:)``, or by ``releaseRefused(_:in:_:now:)``.
  package mutating func takeOrders() -> [Release] {
    defer { orders = [] }
    return orders
  }

  /// The runs that are complete or could not begin; each is handed out once.
  package mutating func takeSettled() -> [Number] {
    defer { settled = [] }
    return settled
  }
}
