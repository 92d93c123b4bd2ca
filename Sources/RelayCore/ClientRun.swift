/// A run under way: what is known of each envelope that it is about, and what is to be done next.
///
/// A value that is told what became durable and how the lanes stand, and says which head is to be
/// let go. It decides each envelope once: delivered, failed in this run, or passed over with the
/// reason. What is not decided moves, or is about to: no clock is needed to bring it on.
package struct ClientRun: Sendable {
  /// What came of one envelope.
  package enum Verdict: Sendable, Equatable {
    /// Nothing so far.
    case pending
    /// The upstream took it.
    case delivered
    /// It was attempted in this run in vain, or it ended undelivered: how it stands, and why.
    case failed(EnvelopeState, String)
    /// It was not attempted, and why not.
    case skipped(RunSkip)
  }

  /// What a run asks for.
  package enum Order: Sendable, Equatable {
    /// Let this head go, be it held or waiting.
    case release(LineEntry, EnvelopeID)
    /// Try the upstream of this head sooner.
    case hasten(LineEntry)
  }

  private struct LaneWork: Sendable {
    var members: [Int] = []
    /// How many of them are not decided.
    var pending = 0
    /// The head that the run has asked to be let go.
    var asked: Serial?
  }

  /// What it is about, in order of acceptance; named ones in the order of their numbers.
  package let members: [RunMember]
  /// What came of each member so far.
  package private(set) var verdicts: [Verdict]
  /// The member that failed first; nil if none did.
  package private(set) var firstFailure: Int?
  /// How many members are not decided.
  package private(set) var pendingCount: Int

  private let namesEach: Bool
  private let places: [Serial: Int]
  private var work: [LaneNumber: LaneWork] = [:]
  private var held: [Bool]
  private var wishes: [WallTime?]
  /// How each upstream was when a head of this run first came to it, and at the last look.
  private var upstreams:
    [UpstreamNumber: (first: Scheduler.UpstreamStanding, last: Scheduler.UpstreamStanding)] = [:]

  /// Begins a run.
  ///
  /// - Parameters:
  ///   - members: Each envelope once.
  ///   - namesEach: Whether neither a hold nor a `notBefore` keeps a member; see ``RunFilter``.
  package init(_ members: [RunMember], namesEach: Bool) {
    self.members = members
    self.namesEach = namesEach
    verdicts = members.map { $0.skip.map { .skipped($0) } ?? .pending }
    held = members.map(\.isHeld)
    wishes = members.map(\.notBefore)
    pendingCount = 0
    var places: [Serial: Int] = [:]
    for (index, member) in members.enumerated() {
      guard let lane = member.lane, member.skip == nil else { continue }
      places[member.serial] = index
      work[lane, default: LaneWork()].members.append(index)
      work[lane]?.pending += 1
      pendingCount += 1
    }
    self.places = places
  }

  /// Whether every member is decided.
  package var isComplete: Bool { pendingCount == 0 }

  /// The lanes in which something is not decided, in the order of their numbers.
  package var pendingLanes: [LaneNumber] { work.filter { $0.value.pending > 0 }.keys.sorted() }

  /// All lanes that the run is about.
  package var lanes: some Sequence<LaneNumber> { work.keys }

  /// What came of it on the whole, as far as it is decided.
  package var summary: RunSummary {
    let hasDelivered = verdicts.contains(.delivered)
    guard firstFailure != nil else { return hasDelivered ? .delivered : .nothing }
    return hasDelivered ? .partly : .failed
  }

  // MARK: - What happened

  /// Something became durable; whether it changed what is known.
  @discardableResult
  package mutating func note(_ news: RunNews, of serial: Serial) -> Bool {
    guard let index = places[serial], verdicts[index] == .pending,
      let lane = members[index].lane
    else { return false }
    if work[lane]?.asked == serial { work[lane]?.asked = nil }
    switch news {
    case .delivered: decide(index, .delivered)
    case .cancelled: decide(index, .skipped(.cancelled))
    case .failed(let state, let reason): decide(index, .failed(state, reason))
    case .released:
      held[index] = false
      wishes[index] = nil
    case .corrected(let isHeld, let notBefore):
      held[index] = isHeld
      wishes[index] = notBefore
    }
    return true
  }

  /// A head could not be let go just then: whoever looks next decides anew.
  package mutating func releaseRefused(in lane: LaneNumber) { work[lane]?.asked = nil }

  /// Whether an upstream that heads of this run wait for has changed since it was looked at.
  package mutating func noticeUpstreams(
    _ standing: (UpstreamNumber) -> Scheduler.UpstreamStanding
  ) -> Bool {
    var hasChanged = false
    for (number, seen) in upstreams {
      let now = standing(number)
      guard now != seen.last else { continue }
      upstreams[number]?.last = now
      hasChanged = true
    }
    return hasChanged
  }

  private mutating func decide(_ index: Int, _ verdict: Verdict) {
    verdicts[index] = verdict
    pendingCount -= 1
    if let lane = members[index].lane { work[lane]?.pending -= 1 }
    if case .failed = verdict, firstFailure == nil { firstFailure = index }
  }

  // MARK: - How a lane stands

  /// Looks at a lane, and decides what it decides.
  ///
  /// - Returns: What is to be done so that it goes on; nil if nothing is.
  package mutating func look(
    at lane: LaneNumber, _ view: Scheduler.RunView, now: WallTime
  ) -> Order? {
    guard let work = work[lane], work.pending > 0 else { return nil }
    guard let phase = view.phase, phase != .parked else {
      // Nothing stands here any more, and what became of these was told of no one by one.
      pass(lane, over: .ended)
      return nil
    }
    guard let head = view.head else { return nil }
    let index = places[head.serial]
    if let index, verdicts[index] != .pending {
      pass(lane, over: .behind, now)
      return nil
    }
    switch phase {
    case .starved, .inFlight, .recording, .parked: return nil
    case .blocked, .unwritable: pass(lane, over: .laneBlocked)
    case .unconfigured: pass(lane, over: .upstreamUnreachable)
    case .paused: pass(lane, over: .paused)
    case .held, .waiting, .ready:
      if view.isPaused {
        pass(lane, over: .paused)
      } else if phase == .ready {
        return awaitTurn(of: head, view.upstream)
      } else {
        return letGo(head, member: index, now)
      }
    }
    return nil
  }

  /// The head is held, or waits for its time.
  private mutating func letGo(_ head: LineEntry, member index: Int?, _ now: WallTime) -> Order? {
    guard let index else {
      pass(head.lane, over: .behind, now)
      return nil
    }
    if !namesEach, let reason = standstill(of: index, at: head, now) {
      decide(index, .skipped(reason))
      pass(head.lane, over: .behind, now)
      return nil
    }
    guard work[head.lane]?.asked != head.serial else { return nil }
    work[head.lane]?.asked = head.serial
    return .release(head, members[index].id)
  }

  /// The head waits for nothing but a slot, or for its upstream to be back.
  private mutating func awaitTurn(
    of head: LineEntry, _ standing: Scheduler.UpstreamStanding
  ) -> Order? {
    guard let seen = upstreams[head.upstream] else {
      upstreams[head.upstream] = (standing, standing)
      return standing == .reachable ? nil : .hasten(head)
    }
    upstreams[head.upstream]?.last = standing
    if standing != .reachable, standing != seen.first {
      pass(head.lane, over: .upstreamUnreachable)
    }
    return nil
  }

  /// What its own sender said that keeps a head from being run.
  ///
  /// As it stands now counts as well: it may have been replaced.
  private func standstill(of index: Int, at head: LineEntry, _ now: WallTime) -> RunSkip? {
    if head.standing == .held { return .held }
    // Before the first attempt, nothing but its sender's wish can have made it wait.
    if head.attempts == 0, let due = head.dueAt, due > now { return .notBefore }
    return standstill(of: index, now)
  }

  /// What a member's own sender said that keeps it from being run, as far as is known.
  private func standstill(of index: Int, _ now: WallTime) -> RunSkip? {
    if held[index] { return .held }
    if let wish = wishes[index], wish > now { return .notBefore }
    return nil
  }

  /// Decides all that is left of a lane, for a reason that is the whole lane's.
  private mutating func pass(_ lane: LaneNumber, over reason: RunSkip) {
    for index in work[lane]?.members ?? [] where verdicts[index] == .pending {
      decide(index, .skipped(reason))
    }
  }

  /// Decides all that is left of a lane whose head does not move: what would keep a member by
  /// itself comes first.
  private mutating func pass(_ lane: LaneNumber, over reason: RunSkip, _ now: WallTime) {
    for index in work[lane]?.members ?? [] where verdicts[index] == .pending {
      let own = namesEach ? nil : standstill(of: index, now)
      decide(index, .skipped(own ?? reason))
    }
  }
}
