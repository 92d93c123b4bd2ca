@testable import RelayCore

/// A scheduler with a clock that stands until it is moved, and a disk that commits when it is told.
struct ManualRelay {
  var clock = Now(
    wall: WallTime(millisecondsSinceEpoch: 1_700_000_000_000),
    monotonic: MonotonicTime(nanoseconds: 5_000_000_000))
  var scheduler: Scheduler
  var runs = RunBook()
  /// What waits, as the disk has it.
  var line: [LineEntry] = []
  /// Attempts in the order in which they began, and those that have not ended.
  var attempted: [Serial] = []
  var inFlight: [LineEntry] = []
  /// Those that went together, in the order in which they began.
  var together: [[Serial]] = []
  /// How large those might be.
  var batchSizes = BatchSizes()
  /// Those that the upstream was asked for, in order.
  private(set) var verified: [Serial] = []
  /// Changes that were asked for and are not committed.
  private(set) var uncommitted: [Transition] = []
  private(set) var linesAskedFor: [Serial] = []
  /// Where pages were asked for that go backwards.
  private(set) var linesAskedForBackwards: [Serial] = []
  /// The lanes in which the newest goes first.
  var latest: Set<LaneNumber> = []
  private var lastSerial: Serial = 0

  static let upstream = UpstreamNumber(rawValue: 1)

  init(
    policy: UpstreamPolicy = .manual, limits: Scheduler.Limits = .init(), seed: UInt64 = 1,
    others: [UpstreamNumber: UpstreamPolicy] = [:]
  ) {
    var upstreams = others
    upstreams[Self.upstream] = policy
    scheduler = Scheduler(upstreams: upstreams, limits: limits, epoch: 1, seed: seed, now: clock)
  }

  /// Makes an entry of the next number, which nothing knows of yet.
  mutating func makeEntry(
    lane: Int64, client: Int64? = nil, upstream: UpstreamNumber = upstream,
    expiresInMs: Int64 = 604_800_000, standing: Standing = .queued,
    onFailure: FailurePolicy = .skip, dueInMs: Int64? = nil
  ) -> LineEntry {
    lastSerial += 1
    return LineEntry(
      serial: lastSerial, client: ClientNumber(rawValue: client ?? lane),
      lane: LaneNumber(rawValue: lane), upstream: upstream, acceptedAt: clock.wall,
      expiresAt: clock.wall.adding(milliseconds: expiresInMs), standing: standing,
      onFailure: onFailure, dueAt: dueInMs.map { clock.wall.adding(milliseconds: $0) })
  }

  /// Commits an entry and tells the scheduler.
  @discardableResult
  mutating func accept(_ entry: LineEntry) -> Int {
    line.append(entry)
    let position = scheduler.accepted(entry, order: order(of: entry), now: clock)
    take()
    return position
  }

  /// Makes entries and accepts them.
  @discardableResult
  mutating func accept(count: Int = 1, lane: Int64, client: Int64? = nil) -> Serial {
    for _ in 0..<count { accept(makeEntry(lane: lane, client: client)) }
    return lastSerial
  }

  /// Ends an attempt by an answer.
  mutating func answer(
    _ serial: Serial, status: Int = 200, retryAfter: String? = nil, durationMs: Int64 = 1
  ) {
    var headers = HeaderBlock()
    if let retryAfter { headers.append(name: "Retry-After", value: retryAfter) }
    end(
      serial, .answered(UpstreamResponse(status: status, headers: headers, body: [])),
      durationMs: durationMs)
  }

  /// Ends an attempt without an answer.
  mutating func fail(
    _ serial: Serial, _ failure: ConnectionFailure = .connect, isWritten: Bool = false
  ) {
    end(serial, .failed(failure, detail: ""), isWritten: isWritten)
  }

  /// Ends an attempt before anything was sent.
  mutating func refuseToSend(_ serial: Serial, reason: String) {
    end(serial, .unsendable(reason: reason))
  }

  private mutating func end(
    _ serial: Serial, _ event: AttemptEvent, isWritten: Bool = true, durationMs: Int64 = 1
  ) {
    inFlight.removeAll { $0.serial == serial }
    scheduler.attemptEnded(
      AttemptReport(
        serial: serial, event: event, startedAt: clock.wall, durationMs: durationMs,
        isWritten: isWritten),
      now: clock)
    take()
  }

  mutating func withdraw(_ serial: Serial) {
    inFlight.removeAll { $0.serial == serial }
    scheduler.attemptWithdrawn(serial, now: clock)
    take()
  }

  mutating func vanish(_ serial: Serial) {
    inFlight.removeAll { $0.serial == serial }
    line.removeAll { $0.serial == serial }
    scheduler.attemptVanished(serial, now: clock)
    take()
  }

  /// Commits what was asked for up to now, of all envelopes or of one.
  mutating func commit(only serial: Serial? = nil) {
    let transitions = uncommitted.filter { serial == nil || $0.serial == serial }
    uncommitted.removeAll { serial == nil || $0.serial == serial }
    for var transition in transitions {
      transition.isMoot = !isThere(transition)
      commitToDisk(transition)
      let client = scheduler.lane(transition.lane)?.client
      scheduler.recorded(transition, now: clock)
      runs.recorded(transition, of: client, in: &scheduler, now: clock)
      take()
    }
  }

  /// The store is damaged where what was asked for up to now would stand.
  mutating func failToWrite() {
    let transitions = uncommitted
    uncommitted = []
    for transition in transitions {
      scheduler.unwritten(transition, now: clock)
      runs.unwritten(transition, in: &scheduler, now: clock)
      take()
    }
  }

  /// Ends every attempt under way with 200, commits, and so on until nothing is under way.
  mutating func deliverAll() {
    while !inFlight.isEmpty || !uncommitted.isEmpty || !linesAskedFor.isEmpty
      || !linesAskedForBackwards.isEmpty
    {
      for entry in inFlight { answer(entry.serial) }
      commit()
      readLine()
    }
  }

  /// Hands over the pages of the line that were asked for.
  mutating func readLine(countMax: Int = 1000) {
    while !linesAskedFor.isEmpty {
      let after = linesAskedFor.removeFirst()
      scheduler.refill(page(after: after, countMax: countMax), now: clock)
      take()
    }
    while !linesAskedForBackwards.isEmpty {
      let before = linesAskedForBackwards.removeFirst()
      scheduler.refill(page(before: before, countMax: countMax), now: clock)
      take()
    }
  }

  func page(before: Serial, countMax: Int) -> LinePage {
    let behind = line.reversed().drop { $0.serial >= before }
    let hasMore = behind.count > countMax
    let entries = Array(behind.prefix(countMax))
    return LinePage(
      entries: entries, scannedThrough: hasMore ? entries[countMax - 1].serial : 0,
      hasMore: hasMore)
  }

  private func order(of entry: LineEntry) -> LaneOrder {
    latest.contains(entry.lane) ? .latest : .strict
  }

  /// Somebody asks for something.
  @discardableResult
  mutating func obey(_ command: SteeringCommand, of entry: LineEntry) -> CommandVerdict {
    let verdict = scheduler.obey(command, of: entry, now: clock)
    take()
    return verdict
  }

  func page(after: Serial, countMax: Int) -> LinePage {
    let behind = line.drop { $0.serial <= after }
    let hasMore = behind.count > countMax
    let entries = Array(behind.prefix(countMax))
    return LinePage(
      entries: entries, scannedThrough: hasMore ? entries[countMax - 1].serial : lastSerial,
      hasMore: hasMore)
  }

  /// Hands a page over that was read earlier, in answer to the oldest question for one.
  mutating func refill(_ page: LinePage) {
    linesAskedFor.removeFirst()
    scheduler.refill(page, now: clock)
    take()
  }

  /// The same for a page that goes backwards.
  mutating func refillBackwards(_ page: LinePage) {
    linesAskedForBackwards.removeFirst()
    scheduler.refill(page, now: clock)
    take()
  }

  /// The store is about to replace an envelope.
  mutating func reserve(_ serial: Serial) -> Bool {
    guard let entry = line.first(where: { $0.serial == serial }) else { return false }
    defer { take() }
    return scheduler.reserve(serial, in: entry.lane)
  }

  /// The store has put a draft in an envelope's place.
  @discardableResult
  mutating func coalesce(
    _ serial: Serial, by draft: EnvelopeDraft, to upstream: UpstreamNumber = upstream
  )
    -> Int?
  {
    guard let place = line.firstIndex(where: { $0.serial == serial }) else { return nil }
    let former = line[place]
    let (entry, keepsBackoff) = former.replaced(by: draft, to: upstream, formerNotBefore: nil)
    line[place] = entry
    defer { take() }
    return scheduler.coalesced(
      CoalescedEnvelope(
        entry: entry, id: EnvelopeID(serial: serial, acceptedAt: entry.acceptedAt, random: 1),
        draft: draft, revision: 1, formerUpstream: former.upstream, keepsBackoff: keepsBackoff),
      now: clock)
  }

  /// The store has not replaced it after all.
  mutating func release(_ serial: Serial) {
    guard let entry = line.first(where: { $0.serial == serial }) else { return }
    scheduler.released(serial, in: entry.lane, now: clock)
    take()
  }

  /// A draft with what matters to scheduling.
  func draft(hold: Bool = false, dueInMs: Int64? = nil, expiresInMs: Int64 = 604_800_000)
    -> EnvelopeDraft
  {
    var draft = EnvelopeDraft(
      client: "c", lane: "l", upstream: "u",
      content: EnvelopeContent(
        method: "POST", target: [0x2F], headers: HeaderBlock(), body: .inline([])),
      expiresAt: clock.wall.adding(milliseconds: expiresInMs))
    draft.hold = hold
    draft.notBefore = dueInMs.map { clock.wall.adding(milliseconds: $0) }
    draft.coalesce = "k"
    return draft
  }

  /// Moves what is parked to the end of the line.
  ///
  /// - Returns: Its position.
  @discardableResult
  mutating func place(_ serial: Serial) -> Int? {
    guard let index = line.firstIndex(where: { $0.serial == serial }) else { return nil }
    var entry = line.remove(at: index)
    lastSerial += 1
    entry.serial = lastSerial
    entry.standing = .queued
    line.append(entry)
    let position = scheduler.placed(entry, now: clock)
    take()
    return position
  }

  mutating func expire(_ serial: Serial) {
    guard let entry = line.first(where: { $0.serial == serial }) else { return }
    scheduler.expire(entry, now: clock)
    take()
  }

  /// Both clocks go on.
  mutating func pass(ms: Int64) {
    clock.wall = clock.wall.adding(milliseconds: ms)
    clock.monotonic = clock.monotonic.adding(milliseconds: ms)
    timePassed()
  }

  /// Both clocks go on to a time, and nobody is told.
  mutating func advance(to time: MonotonicTime) {
    clock.wall = clock.wall.adding(milliseconds: time.milliseconds(since: clock.monotonic))
    clock.monotonic = time
  }

  /// The scheduler is told that time passed.
  mutating func timePassed() {
    scheduler.timePassed(now: clock)
    take()
  }

  /// Somebody sets the wall clock ahead, or back.
  mutating func setClock(byMs milliseconds: Int64) {
    clock.wall = clock.wall.adding(milliseconds: milliseconds)
    scheduler.clockWasSet(byMs: milliseconds, now: clock)
    take()
  }

  /// The line cannot be read: what was asked for is not handed over.
  mutating func failToRead() {
    linesAskedFor = []
    linesAskedForBackwards = []
    scheduler.refillFailed()
    take()
  }

  /// It is time to read the line again.
  mutating func retryReading() {
    scheduler.retrySweep()
    take()
  }

  /// The relay starts anew from its disk.
  ///
  /// - Parameter shown: How many entries of the line are read; the rest is counted.
  mutating func restart(
    policy: UpstreamPolicy = .manual, limits: Scheduler.Limits = .init(),
    wasClockSetBack: Bool = false, shown: Int = .max, setsOff: Bool = true
  ) {
    scheduler = Scheduler(
      upstreams: [Self.upstream: policy], limits: limits, epoch: 1, seed: 2, now: clock)
    (inFlight, uncommitted, linesAskedFor, linesAskedForBackwards) = ([], [], [], [])
    let page = Array(line.prefix(shown))
    scheduler.restore(
      LinePage(
        entries: page, scannedThrough: page.last?.serial ?? lastSerial,
        hasMore: page.count < line.count),
      latest: latest)
    scheduler.restore(counted: line.dropFirst(page.count), latest: latest)
    scheduler.restored(now: clock, wasClockSetBack: wasClockSetBack, setsOff: setsOff)
    take()
  }

  mutating func take() {
    carryOutRuns()
    for action in scheduler.takeActions() {
      switch action {
      case .attempt(let entry):
        attempted.append(entry.serial)
        inFlight.append(entry)
      case .attemptTogether(let entries, let bytesMax): goTogether(entries, bytesMax)
      case .verify(let entry):
        verified.append(entry.serial)
        inFlight.append(entry)
      case .record(let transition): uncommitted.append(transition)
      case .readLine(let after): linesAskedFor.append(after)
      case .readLineBackwards(let before): linesAskedForBackwards.append(before)
      case .reachabilityChanged, .upstreamHeld: break
      case .batchCeilingLowered(_, _, let bytesMax): batchSizes.lowered.append(bytesMax)
      }
    }
  }

  private mutating func commitToDisk(_ transition: Transition) {
    if case .requeue(let entry) = transition.change {
      let place = line.firstIndex { $0.serial >= entry.serial } ?? line.endIndex
      return line.insert(entry, at: place)
    }
    guard let place = place(of: transition.serial) else { return }
    if let attempt = transition.attempt { line[place].attempts = attempt.number }
    switch transition.change {
    case .begin: line[place].isInDoubt = true
    case .retry(let time):
      line[place].dueAt = time
      line[place].isInDoubt = transition.doubt != nil
    case .block:
      line[place].standing = .blocked
      line[place].isInDoubt = false
    case .end: line.remove(at: place)
    case .release:
      line[place].standing = .queued
      line[place].dueAt = nil
    case .edit(let edit): line[place] = edit.entry
    case .requeue: break
    }
  }
}
