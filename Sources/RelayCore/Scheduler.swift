/// Decides what is attempted when: the lanes, the upstreams' slots, backoff and reachability.
///
/// A value without input or output. It is told what happened (envelopes were accepted, an attempt
/// ended, a change was stored, time passed), and hands back ``Action``s by ``takeActions()``. The
/// order within a lane rests on two rules: a lane has one head, and the head leaves only when the
/// store has said that its end is durable.
package struct Scheduler: Sendable {
  /// What the relay is to do next.
  package enum Action: Sendable, Equatable {
    /// Attempt this envelope.
    case attempt(LineEntry)
    /// Ask the upstream whether it has this envelope; what it says is reported as if it were an
    /// attempt.
    case verify(LineEntry)
    /// Make this change durable, and say so by ``Scheduler/recorded(_:now:)``; or, if it cannot be
    /// written, by ``Scheduler/unwritten(_:now:)``.
    case record(Transition)
    /// Read the line from behind this number, and hand it over by
    /// ``Scheduler/refill(_:now:)``.
    case readLine(after: Serial)
    /// Read the line backwards from before this number, and hand it over by
    /// ``Scheduler/refill(_:now:)``.
    case readLineBackwards(before: Serial)
    /// An upstream's lanes stop trying, or start again: for the log.
    case reachabilityChanged(UpstreamNumber, isReachable: Bool, reason: String?)
  }

  /// What the scheduler holds in memory at the most.
  package struct Limits: Hashable, Sendable {
    /// How many envelopes all windows hold together; one takes about 100 bytes.
    package var windowEntriesMax: Int
    /// How many envelopes a lane may hold however full the others are; at least 1.
    package var laneWindowMin: Int

    /// Sets both.
    package init(windowEntriesMax: Int = 262_144, laneWindowMin: Int = 16) {
      precondition(windowEntriesMax >= 1 && laneWindowMin >= 1)
      self.windowEntriesMax = windowEntriesMax
      self.laneWindowMin = laneWindowMin
    }
  }

  /// A place in the timers: which lane waits, and when that is looked at.
  struct LaneTimer: Sendable {
    var lane: LaneNumber
    var time: MonotonicTime
  }

  /// A wait is looked at again at least this often, whatever it waits for: what waited in vain
  /// leaves the timers, and a clock that is being adjusted is followed.
  static let waitSliceMs: Int64 = 60_000

  /// An attempt that is under way: in which lane, and in which upstream's slot.
  struct Flight: Sendable {
    var lane: LaneNumber
    var upstream: UpstreamNumber
    var stage: Stage

    /// How far it has come.
    enum Stage: Sendable {
      /// That it begins is on its way to the disk; nothing has been sent.
      case announced
      /// The envelope is being sent.
      case sending
      /// The upstream is being asked whether it has the envelope.
      case verifying
    }
  }

  let limits: Limits
  let epoch: Int64
  var random: SplitMix64
  var lanes = NumberTable<LaneNumber, Lane>()
  /// All that are configured, and those that were since the start.
  var upstreams = NumberTable<UpstreamNumber, UpstreamLine>()
  /// How many envelopes wait for each upstream, those in flight included, configured or not.
  var waitingFor = NumberTable<UpstreamNumber, Int>()
  var timers = TimerQueue<LaneTimer>()
  var clientsWaiting = NumberTable<ClientNumber, Int>()
  var inFlight = NumberTable<Serial, Flight>()
  var windowEntries = 0
  var waitingTotal = 0
  /// Lanes that stand still for want of envelopes in memory.
  var starving = StarvingLanes()
  var blocked: NumberSet<LaneNumber> = []
  var paused: Set<PauseTarget> = []
  /// Envelopes that were behind a head when a change of theirs set out for the disk.
  var changing: Set<Serial> = []
  /// Those of them that were parked.
  var changingParked: Set<Serial> = []
  /// Envelopes whose end could not be written, at most ``unwritableEndsMax``.
  ///
  /// It is not tried again just because their deadline has passed.
  var unwritableEnds: Set<Serial> = []
  /// Envelopes of ``LaneOrder/latest`` lanes that are about to be back in line.
  var latestRequeues: Set<Serial> = []
  /// Envelopes that the store is about to replace.
  var reserved: Set<Serial> = []
  /// Clients all of whose backlog the store is about to cancel.
  var clearing: Set<ClientNumber> = []
  /// Lanes whose heads would go on, were they not reserved; whether there was a slot for them.
  var heldBack: [LaneNumber: Bool] = [:]
  /// Whether there are runs, which have to know which lanes turn.
  var notesTurns = false
  /// Lanes that runs have to look at, if they wait for them.
  var turned: Set<LaneNumber> = []
  var sweep: Sweep?
  var sweepCount = 0
  /// Whether the line could not be read, and is to be left alone for a moment.
  var isSweepPutOff = false
  var lastSweepOrder = LaneOrder.latest
  var isStopped = false
  /// Whether the wall clock has been set back, so that waits may be written down by what it showed
  /// before.
  var isClockSuspect = false
  var actions: [Action] = []

  /// Begins with nothing waiting.
  ///
  /// - Parameters:
  ///   - upstreams: Those that may be contacted. Envelopes for others wait.
  ///   - epoch: The epoch of the leases under which outcomes are written.
  ///   - seed: For jitter.
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

  /// What there is to do, in order; each action is handed out once.
  package mutating func takeActions() -> [Action] {
    var taken: [Action] = []
    swap(&taken, &actions)
    return taken
  }

  /// When ``timePassed(now:)`` is due next; nil if nothing waits for time.
  package var nextWake: MonotonicTime? {
    guard !isStopped else { return nil }
    var earliest = timers.earliest
    upstreams.forEachValue { number, upstream in
      guard upstream.ready.count > 0, let probe = upstream.reachability.nextProbeAt,
        !paused.contains(.upstream(number))
      else { return }
      earliest = earliest.map { min($0, probe) } ?? probe
    }
    return earliest
  }

  /// Time passed: waits that are over end, and probes that are due go out.
  package mutating func timePassed(now: Now) {
    while let timer = timers.popDue(at: now.monotonic) {
      guard lanes[timer.lane]?.timerAt == timer.time else { continue }
      lanes[timer.lane]?.timerAt = Lane.noTimer
      lookAtWait(of: timer.lane, now: now)
    }
    for number in upstreams.keys.sorted() { fillSlots(of: number, now: now) }
  }

  /// Sets a timer for a wait, or for its first slice, unless there is one that rings before.
  mutating func startTimer(of number: LaneNumber, until time: MonotonicTime, now: Now) {
    let due = min(time, now.monotonic.adding(milliseconds: Self.waitSliceMs))
    guard let set = lanes[number]?.timerAt, due < set else { return }
    lanes[number]?.timerAt = due
    timers.insert(LaneTimer(lane: number, time: due), at: due)
  }

  /// The head of a lane waits no longer, be its time come or its upstream back.
  mutating func endWait(of number: LaneNumber, now: Now) {
    guard let upstream = lanes[number]?.head?.upstream else { return }
    lanes[number]?.window[0].dueAt = nil
    lanes[number]?.backoffs[upstream] = nil
    upstreams[upstream]?.connectionBackoff.remove(number)
    settleHead(of: number, now: now)
  }

  /// From now on nothing more is attempted: the relay is shutting down.
  package mutating func stop() { isStopped = true }

  /// The time for what is under way is over: nothing is waited for but what has been sent.
  package mutating func cutOff(now: Now) {
    for (serial, flight) in inFlight.sorted(by: { $0.key < $1.key })
    where flight.stage == .announced {
      _ = endFlight(serial)
      lanes[flight.lane]?.phase = .recording
    }
  }
}

/// One upstream, as the scheduler sees it.
struct UpstreamLine: Sendable {
  var policy: UpstreamPolicy
  /// Whether anything more may be sent to it; what is under way when it is taken out of the
  /// configuration ends by its policy.
  var isConfigured = true
  var reachability: Reachability
  var ready = FairQueue()
  var inFlight = 0
  /// The attempt that is to show whether the upstream is back.
  var probe: Serial?
  /// Lanes in backoff after a failure at connection level, to be let go when the upstream is back.
  var connectionBackoff: NumberSet<LaneNumber> = []
  var lastError: String?

  func hasFreeSlot(now: MonotonicTime) -> Bool {
    isConfigured && reachability.freeSlots(inFlight: inFlight, now: now) > 0
  }

  init(policy: UpstreamPolicy, since: WallTime) {
    self.policy = policy
    reachability = Reachability(
      policy: policy.reachability, concurrencyMax: policy.concurrencyMax, since: since)
  }
}
