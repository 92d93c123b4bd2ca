/// One seat's whole view of seats and shards: when it beats, what it may lead, whose shards it
/// takes over, and which it hands over.
///
/// A value that is told what happened and the time, and answers with what is to be done. The time
/// is that of a clock that also counts while the machine sleeps (`CLOCK_BOOTTIME`). A relay with
/// two write connections has two of these.
///
/// - The seat's lease counts from when the last beat that succeeded was *sent*. It ends for the
///   holder a margin before any observer, who counts from when it saw that beat, may take it.
/// - What the table says decides; a placement is only what is aimed at.
/// - After a lapse, and after a commit of unknown outcome, the seat is given up for a new one, in
///   one transaction that raises the epochs of its shards.
package struct LeaseBook: Hashable, Sendable {
  /// A shard that this seat holds.
  struct Holding: Hashable, Sendable {
    var epoch: Int64
    var phase: Phase
  }

  /// How far a shard is on its way to another seat.
  enum Phase: Hashable, Sendable {
    /// It stays.
    case leading
    /// No attempts begin, and those under way are waited for.
    case settling
    /// Posts are held back as well, and those at hand are waited for.
    case freezing
    /// Nothing of it is under way, and nothing can begin.
    case frozen
  }

  /// A call that has not been answered.
  struct PendingCall: Hashable, Sendable {
    let call: LeaseCall
    let sentAt: MonotonicTime
  }

  /// A beat that has not been answered.
  struct PendingBeat: Hashable, Sendable {
    let incarnation: Incarnation
    let sentAt: MonotonicTime
  }

  /// The beats of another seat, and since when they stand at that.
  struct Sighting: Hashable, Sendable {
    let beats: Int64
    let since: MonotonicTime
  }

  let relay: String
  let version: String
  let limits: LeaseLimits

  /// The seat under which shards are held; nil before it is taken, and after its lease has lapsed.
  package var incarnation: Incarnation?
  /// Seats of our own that may stand, and are given up with the next one.
  var givenUp: [Incarnation] = []
  /// Whether the seat is to be replaced although its lease is good.
  var isRenewalDue = false
  /// The time at which the last beat that succeeded was sent.
  var provenAt: MonotonicTime?
  var beats: Int64 = 0
  var nextBeatAt: MonotonicTime?
  var pendingBeat: PendingBeat?

  var holdings: [Int: Holding] = [:]
  var pendingCall: PendingCall?
  /// The time before which no call is made, since one has failed.
  var callsFrom: MonotonicTime?
  var isReadDue = false
  /// Both tables as read last, if no call has changed them since.
  var reading: LeaseReading?

  var sightings: [Incarnation: Sighting] = [:]
  /// The seats as read last, with whatever matters for placement.
  var membership: [Incarnation: Bool] = [:]
  var stableSince: MonotonicTime?
  var placed: [ShardPlacement.Member] = []
  var placement = ShardPlacement(members: [])
  var nextMovesAt: MonotonicTime?

  /// Whether the seat is to be given up for good.
  package internal(set) var isDraining = false
  var hasLeft = false

  /// Begins without a seat; the first ``LeaseEvent/timePassed`` asks for one.
  package init(relay: String, version: String, limits: LeaseLimits = LeaseLimits()) {
    self.relay = relay
    self.version = version
    self.limits = limits
  }

  // MARK: - What it allows

  /// Whether an attempt of a shard may start now; to be asked before each one, with the clock read
  /// at that moment.
  package func mayStart(_ shard: Int, at now: MonotonicTime) -> Bool {
    holdings[shard]?.phase == .leading && !hasLapsed(at: now)
  }

  /// The lease under which a shard is written; nil if others lead it.
  ///
  /// The fence refuses what is written too late, so this needs no clock.
  package func lease(of shard: Int) -> ShardLease? {
    holdings[shard].map { ShardLease(shard: shard, epoch: $0.epoch) }
  }

  /// Whether posts of a shard are accepted.
  package func accepts(_ shard: Int) -> Bool {
    let phase = holdings[shard]?.phase
    return phase == .leading || phase == .settling
  }

  /// The time at which this seat's lease ends, unless a beat succeeds before.
  var leaseEnd: MonotonicTime? { provenAt?.adding(milliseconds: limits.leaseMs) }

  func hasLapsed(at now: MonotonicTime) -> Bool {
    incarnation == nil || leaseEnd.map { $0 <= now } ?? true
  }

  // MARK: - Events

  /// Takes an event, and decides what is to be done.
  package mutating func handle(
    _ event: LeaseEvent, at now: MonotonicTime, random: inout some RandomNumberGenerator
  ) -> [LeaseAction] {
    guard !hasLeft else { return [] }
    var actions: [LeaseAction] = []
    take(event, at: now, random: &random, into: &actions)
    // After the event: a beat that has come in late may have kept the lease.
    if incarnation != nil, hasLapsed(at: now) { cutOff(into: &actions) }
    proceed(at: now, random: &random, into: &actions)
    return actions
  }

  /// The time at which ``LeaseEvent/timePassed`` is due next, unless another event changes that.
  package func nextWake(after now: MonotonicTime) -> MonotonicTime? {
    guard !hasLeft else { return nil }
    var times: [MonotonicTime] = []
    if incarnation != nil, let leaseEnd { times.append(leaseEnd) }
    if incarnation != nil, pendingBeat == nil, let nextBeatAt { times.append(nextBeatAt) }
    if pendingCall == nil {
      if let callsFrom { times.append(callsFrom) }
      if !isDraining { times += sightings.values.map { timeout(of: $0) } }
    }
    return times.filter { $0 > now }.min()
  }

  private mutating func take(
    _ event: LeaseEvent, at now: MonotonicTime, random: inout some RandomNumberGenerator,
    into actions: inout [LeaseAction]
  ) {
    switch event {
    case .timePassed: break
    case .beatSucceeded, .beatFailed, .beatRefused: beatEnded(event, into: &actions)
    case .seated, .read, .claimed, .handedOver, .left, .callFailed, .callRefused, .callUnknown:
      callEnded(event, at: now, random: &random, into: &actions)
    case .settled(let shard) where holdings[shard]?.phase == .settling:
      holdings[shard]?.phase = .freezing
      actions.append(.freeze(shard))
    case .frozen(let shard) where holdings[shard]?.phase == .freezing:
      holdings[shard]?.phase = .frozen
    // A move that was taken back meanwhile.
    case .settled, .frozen: break
    case .commitUnknown(let seat) where seat == incarnation: isRenewalDue = true
    // The table says what is still ours.
    case .writeRefused(let seat) where seat == incarnation: isReadDue = true
    case .tablesChanged: isReadDue = true
    case .commitUnknown, .writeRefused: break
    case .drainAsked:
      isDraining = true
      // The others are to know at once.
      nextBeatAt = now
      planMoves(at: now, into: &actions)
    }
  }

  /// Asks for what is due.
  private mutating func proceed(
    at now: MonotonicTime, random: inout some RandomNumberGenerator,
    into actions: inout [LeaseAction]
  ) {
    guard !hasLeft else { return }
    beatIfDue(at: now, into: &actions)
    guard pendingCall == nil, callsFrom.map({ $0 <= now }) ?? true else { return }
    callsFrom = nil
    if isDraining, incarnation == nil, givenUp.isEmpty {
      leave(into: &actions)
    } else if let call = nextCall(at: now, random: &random) {
      pendingCall = PendingCall(call: call, sentAt: now)
      actions.append(.call(call))
    }
  }

  mutating func leave(into actions: inout [LeaseAction]) {
    hasLeft = true
    incarnation = nil
    holdings = [:]
    actions.append(.drained)
  }
}
