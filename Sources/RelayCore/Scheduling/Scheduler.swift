/// Decides what is attempted, and when: the lanes, the upstreams' slots, backoff and reachability.
///
/// A value without input or output. It is told what happened (envelopes were accepted, an attempt
/// ended, a change was stored, time passed), and hands back ``Action``s by ``takeActions()``. The
/// order within a lane rests on two rules: a lane has one head, and the head leaves only when the
/// store has reported its end as durable.
package struct Scheduler: Sendable {
  /// The next step for the relay.
  package enum Action: Sendable, Equatable {
    /// Attempt this envelope.
    case attempt(LineEntry)
    /// Attempt these envelopes in one request, as far as they can go together; see
    /// ``Scheduler/leftOut(alone:left:now:)`` and ``Scheduler/batchEnded(_:subject:bytes:now:)``.
    /// Several have no more than `bytesMax` bytes in it, where the upstream has shown a limit.
    case attemptTogether([LineEntry], bytesMax: Int?)
    /// Ask the upstream whether it has this envelope; its answer is reported like that of an
    /// attempt.
    case verify(LineEntry)
    /// Make this change durable, and report that by ``Scheduler/recorded(_:now:)``; or, if it
    /// cannot be written, by ``Scheduler/unwritten(_:now:)``.
    case record(Transition)
    /// Read the line after this number, and hand it over by ``Scheduler/refill(_:now:)``.
    case readLine(after: Serial)
    /// Read the line backwards before this number, and hand it over by
    /// ``Scheduler/refill(_:now:)``.
    case readLineBackwards(before: Serial)
    /// An upstream's lanes stop trying, or start again: for the log.
    case reachabilityChanged(UpstreamNumber, isReachable: Bool, reason: String?)
    /// An upstream has begun to say that requests come too fast, and all its lanes wait.
    case upstreamHeld(UpstreamNumber, forMs: Int64, reason: String)
    /// A request was too large for an upstream, and those that follow are smaller: for the log.
    case batchCeilingLowered(UpstreamNumber, refusedBytes: Int, bytesMax: Int)
  }

  /// The limits on the scheduler's memory.
  package struct Limits: Hashable, Sendable {
    /// The most envelopes in all windows together; one takes about 100 bytes.
    package var windowEntriesMax: Int
    /// The number of envelopes that a lane may always hold, however full the others are; at least
    /// 1.
    package var laneWindowMin: Int

    /// Sets both.
    package init(windowEntriesMax: Int = 262_144, laneWindowMin: Int = 16) {
      precondition(windowEntriesMax >= 1 && laneWindowMin >= 1)
      self.windowEntriesMax = windowEntriesMax
      self.laneWindowMin = laneWindowMin
    }
  }

  /// A lane's timer: the lane, and the time at which it is looked at.
  struct LaneTimer: Sendable {
    var lane: LaneNumber
    var time: MonotonicTime
  }

  /// The longest time until a wait is looked at again, whatever it waits for.
  ///
  /// So obsolete waits leave the timers, and a clock that is being adjusted is followed.
  static let waitSliceMs: Int64 = 60_000

  /// A running attempt: its lane, and the upstream whose slot it has.
  struct Flight: Sendable {
    var lane: LaneNumber
    var upstream: UpstreamNumber
    var stage: Stage
    /// Whether others go in the same request, which has one slot for all.
    var isBatched = false
    /// Whether its upstream has been configured anew since, so that it shows nothing of it.
    var isOutdated = false

    /// The stage of an attempt.
    enum Stage: Sendable {
      /// Its announcement is on its way to the disk; nothing has been sent.
      case announced
      /// The envelope is being sent.
      case sending
      /// The upstream is being asked whether it has the envelope.
      case verifying
    }
  }

  let limits: Limits
  /// The epoch of every shard, where all are held.
  let epoch: Int64
  /// The shards that are held; nil if all are.
  var held: HeldShards?
  /// Attempts that were under way when their lanes were let go, by those lanes.
  var releasedFlights: [LaneNumber: Set<Serial>] = [:]
  var random: SplitMix64
  var lanes = NumberTable<LaneNumber, Lane>()
  /// When the parked envelopes of each lane were accepted, as many as ``Lane/parked`` counts.
  ///
  /// They stand apart, since few lanes have any.
  var parkedTimes = NumberTable<LaneNumber, TimeTally>()
  /// The upstreams that are configured, or were since the start.
  var upstreams = NumberTable<UpstreamNumber, UpstreamLine>()
  /// The number of waiting envelopes for each upstream, configured or not, those in flight
  /// included.
  var waitingFor = NumberTable<UpstreamNumber, Int>()
  var timers = TimerQueue<LaneTimer>()
  var clientsWaiting = NumberTable<ClientNumber, Int>()
  var inFlight = NumberTable<Serial, Flight>()
  /// Requests with several envelopes.
  var batches = BatchBook()
  /// Upstreams whose envelopes go together, and whose slots are filled once all that happens at
  /// this moment is known.
  var unfilled: [UpstreamNumber: Now] = [:]
  var windowEntries = 0
  var waitingTotal = 0
  /// Lanes that stand still for want of envelopes in memory.
  var starving = StarvingLanes()
  var blocked: NumberSet<LaneNumber> = []
  var paused: Set<PauseTarget> = []
  /// Envelopes that were behind a head, parked, or ended when a change of theirs set out for the
  /// disk, and their clients.
  var changing: [Serial: ClientNumber] = [:]
  /// The parked ones among ``changing``.
  var changingParked: Set<Serial> = []
  /// Envelopes whose end could not be written, at most ``unwritableEndsMax``.
  ///
  /// Their end is not tried again just because their deadline has passed.
  var unwritableEnds: Set<Serial> = []
  /// Ended envelopes of ``LaneOrder/latest`` lanes that are about to be requeued.
  var latestRequeues: Set<Serial> = []
  /// Envelopes that the store is about to replace.
  var reserved: Set<Serial> = []
  /// Clients whose whole backlog the store is about to cancel.
  var clearing: Set<ClientNumber> = []
  /// Lanes whose heads would go on if they were not reserved, and whether there was a slot for
  /// them.
  var heldBack: [LaneNumber: Bool] = [:]
  /// Whether there are runs, which have to know the lanes that turn.
  var notesTurns = false
  /// Lanes that runs may have to look at.
  var turned: Set<LaneNumber> = []
  var sweep: Sweep?
  var sweepCount = 0
  /// Whether the line could not be read, and is left alone until ``retrySweep()``.
  var isSweepPutOff = false
  var lastSweepOrder = LaneOrder.latest
  var isStopped = false
  /// Whether no attempt may begin for now.
  package internal(set) var isSuspended = false
  /// Whether attempts may begin at all: not before what was taken up is set off.
  var isSetOff = true
  /// Whether the wall clock has been set back, so that waits may be stored by what it showed
  /// before.
  var isClockSuspect = false
  var actions: [Action] = []

  /// Begins with every shard, and with nothing waiting.
  ///
  /// - Parameters:
  ///   - upstreams: The upstreams that may be contacted; envelopes for others wait.
  ///   - epoch: The epoch under which outcomes are written, of whatever shard.
  ///   - seed: The seed for jitter.
  package init(
    upstreams: [UpstreamNumber: UpstreamPolicy], limits: Limits = Limits(), epoch: Int64,
    seed: UInt64, now: Now
  ) {
    self.limits = limits
    self.epoch = epoch
    random = SplitMix64(seed: seed)
    for (number, policy) in upstreams {
      self.upstreams[number] = UpstreamLine(policy: policy, since: now.wall)
    }
  }

  /// The actions to carry out, in order; each is handed out once.
  package mutating func takeActions() -> [Action] {
    fillDeferred()
    var taken: [Action] = []
    swap(&taken, &actions)
    return taken
  }

  /// The time at which ``timePassed(now:)`` is due next; nil if nothing waits for time.
  package var nextWake: MonotonicTime? {
    guard !isStopped else { return nil }
    var earliest = timers.earliest
    guard isSetOff, !isSuspended else { return earliest }
    upstreams.forEachValue { number, upstream in
      guard upstream.ready.count > 0, !paused.contains(.upstream(number)),
        let time = upstream.wakesAt
      else { return }
      earliest = earliest.map { min($0, time) } ?? time
    }
    return earliest
  }

  /// Ends waits that are over, and sends probes that are due.
  package mutating func timePassed(now: Now) {
    while let timer = timers.popDue(at: now.monotonic) {
      guard lanes[timer.lane]?.timerAt == timer.time else { continue }
      lanes[timer.lane]?.timerAt = Lane.noTimer
      lookAtWait(of: timer.lane, now: now)
    }
    for number in upstreams.keys.sorted() { fillSlots(of: number, now: now) }
  }

  /// Sets a timer for a wait, or for its first slice, unless an earlier one is set.
  mutating func startTimer(of number: LaneNumber, until time: MonotonicTime, now: Now) {
    let due = min(time, now.monotonic.adding(milliseconds: Self.waitSliceMs))
    guard let set = lanes[number]?.timerAt, due < set else { return }
    lanes[number]?.timerAt = due
    timers.insert(LaneTimer(lane: number, time: due), at: due)
  }

  /// Ends the wait of a lane's head, since its time has come or its upstream is back.
  mutating func endWait(of number: LaneNumber, now: Now) {
    guard let upstream = lanes[number]?.head?.upstream else { return }
    lanes[number]?.window[0].dueAt = nil
    lanes[number]?.backoffs[upstream] = nil
    upstreams[upstream]?.connectionBackoff.remove(number)
    settleHead(of: number, now: now)
  }

  /// Stops all further attempts, since the relay is shutting down.
  package mutating func stop() { isStopped = true }

  /// Gives up attempts that are announced but not sent: only sent ones are still waited for.
  package mutating func cutOff(now: Now) {
    for (serial, flight) in inFlight.sorted(by: { $0.key < $1.key })
    where flight.stage == .announced {
      _ = endFlight(serial, now: now)
      setPhase(of: flight.lane, .recording)
    }
  }
}

/// The scheduler's state for one upstream.
struct UpstreamLine: Sendable {
  var policy: UpstreamPolicy
  /// Whether new requests may be sent to it.
  ///
  /// An attempt that is running when it is taken out of the configuration ends by its policy.
  var isConfigured = true
  var reachability: Reachability
  var pace: UpstreamPace
  var ready = FairQueue()
  /// The number of requests under way.
  var inFlight = 0
  /// How many of them were begun before it was configured anew, and take no slot of it as it is
  /// now.
  var outdated = 0
  /// The number of envelopes in them.
  var envelopesInFlight = 0
  /// The attempt that shows whether the upstream is back.
  var probe: Serial?
  /// Lanes in backoff after a failure at connection level; their waits end when the upstream is
  /// back.
  var connectionBackoff: NumberSet<LaneNumber> = []
  /// Lanes whose heads were answered while the upstream had asked for a wait.
  ///
  /// Their own waits end if somebody ends that one. Some may have gone on since.
  var askedBackoff: NumberSet<LaneNumber> = []
  /// Lanes whose heads were answered what may be about the relay's credentials.
  ///
  /// Their own waits end if the upstream is configured anew. Some may have gone on since.
  var unclearBackoff: NumberSet<LaneNumber> = []
  var lastError: String?
  /// The last answer, in words, if it took nothing.
  var lastRefusal: String?
  /// The answer because of which the upstream is held, in words.
  var heldReason: String?
  /// The wait of a batch that is not full.
  var linger = Linger.none
  /// How large its requests with several envelopes may be.
  var batchCeiling = BatchCeiling()

  /// A wait for more envelopes.
  enum Linger: Sendable {
    case none
    case until(MonotonicTime)
    /// What waits goes as soon as there is a slot.
    case over

    /// Its end, if it is under way.
    var end: MonotonicTime? { if case .until(let time) = self { time } else { nil } }
    /// Whether it is under way.
    var isUnderWay: Bool { end != nil }
  }
  /// The kind of the last failure at connection level; nil if the upstream has answered since.
  var lastFailure: ConnectionFailure?
  /// Whether it has refused the relay's certificate, and nothing else was seen since.
  var refusesIdentity = false
  /// Whether it has answered a request since it was last configured anew, or the start.
  var hasAnswered = false

  /// What went wrong last, in words.
  var shownError: String? {
    reachability.isReachable && lastFailure == nil ? lastRefusal ?? lastError : lastError
  }

  /// The number of slots that are taken.
  var slotsTaken: Int { inFlight - outdated }

  func hasFreeSlot(now: MonotonicTime) -> Bool {
    isConfigured && pace.opensAt <= now
      && reachability.freeSlots(inFlight: slotsTaken, now: now) > 0
  }

  /// The time at which an envelope that is ready may begin, if time alone keeps it waiting.
  var wakesAt: MonotonicTime? {
    guard pace.opensAt < UpstreamPace.never else { return linger.end }
    if let probeAt = reachability.nextProbeAt { return max(probeAt, pace.opensAt) }
    // Otherwise the end of an attempt is waited for.
    guard reachability.isReachable, slotsTaken < reachability.window else { return linger.end }
    guard let end = linger.end else { return pace.opensAt }
    return max(end, pace.opensAt)
  }

  /// Notes a failure at connection level.
  ///
  /// A server that has refused the relay's certificate refuses it again without saying so where its
  /// reset overtakes its alert: what it said stays until something else is seen.
  mutating func note(_ failure: ConnectionFailure, in report: AttemptReport) {
    if refusesIdentity, !report.isOfIdentity, failure == .cut || failure == .tls { return }
    refusesIdentity = report.isOfIdentity
    lastError = report.sentence
    lastFailure = failure
  }

  /// Notes that the upstream answered, with whatever status.
  mutating func answered(now: Now) -> Reachability.Change {
    lastFailure = nil
    refusesIdentity = false
    hasAnswered = true
    let change = reachability.answered(now: now)
    if change == .becameReachable { lastError = nil }
    // What was under way when the wait began says nothing of how much is taken after it.
    if pace.heldUntil(at: now.monotonic) != nil { reachability.rampUpAnew() }
    return change
  }

  init(policy: UpstreamPolicy, since: WallTime) {
    self.policy = policy
    reachability = Reachability(
      policy: policy.reachability, concurrencyMax: policy.concurrencyMax, since: since)
    pace = UpstreamPace(limit: policy.rate)
  }
}
