/// A run under way: the state of each of its envelopes, and its next step.
///
/// A value that is told of commits and of the lanes' states, and says which head is to be released.
/// It decides each envelope once: delivered, failed in this run, or passed over with the reason. An
/// envelope that is not decided moves, or is about to, so no clock is needed.
package struct ClientRun: Sendable {
  /// The run's result for one envelope.
  package enum Verdict: Sendable, Equatable {
    /// Not decided yet.
    case pending
    /// The upstream took it.
    case delivered
    /// It was attempted in this run in vain, or ended undelivered: its state, and why.
    case failed(EnvelopeState, String)
    /// It was not attempted, for this reason.
    case skipped(RunSkip)
  }

  /// A request of a run to the scheduler.
  package enum Order: Sendable, Equatable {
    /// Release this head, whether it is held or waiting.
    case release(LineEntry, EnvelopeID)
    /// Try the upstream of this head sooner.
    case hasten(LineEntry)
  }

  private struct LaneWork: Sendable {
    var members: [Int] = []
    /// The number of members that are not decided.
    var pending = 0
    /// The head that the run has asked to release.
    var asked: Serial?
  }

  /// The envelopes of the run in order of acceptance; named ones in the order of their numbers.
  package let members: [RunMember]
  /// The verdict on each member.
  package private(set) var verdicts: [Verdict]
  /// The index of the member that failed first; nil if none did.
  package private(set) var firstFailure: Int?
  /// The number of members that are not decided.
  package private(set) var pendingCount: Int

  private let namesEach: Bool
  private let places: [Serial: Int]
  private var work: [LaneNumber: LaneWork] = [:]
  private var held: [Bool]
  private var wishes: [WallTime?]
  /// The state of each upstream when a head of this run first needed it, and at the last look.
  private var upstreams:
    [UpstreamNumber: (first: Scheduler.UpstreamStanding, last: Scheduler.UpstreamStanding)] = [:]

  /// Begins a run.
  ///
  /// - Parameters:
  ///   - members: Each envelope once.
  ///   - namesEach: Whether members are run even if they are held or have a later `notBefore`; see
  ///     ``RunFilter``.
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

  /// The lanes with undecided members, in the order of their numbers.
  package var pendingLanes: [LaneNumber] { work.filter { $0.value.pending > 0 }.keys.sorted() }

  /// All lanes with members of the run.
  package var lanes: some Sequence<LaneNumber> { work.keys }

  /// The result of the run as a whole, as far as it is decided.
  package var summary: RunSummary {
    let hasDelivered = verdicts.contains(.delivered)
    guard firstFailure != nil else { return hasDelivered ? .delivered : .nothing }
    return hasDelivered ? .partly : .failed
  }

  // MARK: - What happened

  /// Notes what a commit says of an envelope; false if it is no undecided member.
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

  /// Notes that a head could not be released just then: the next look decides anew.
  package mutating func releaseRefused(in lane: LaneNumber) { work[lane]?.asked = nil }

  /// Whether an upstream that heads of this run wait for has changed since the last look.
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

  /// Looks at a lane, and decides the members that its state decides.
  ///
  /// - Returns: The request that moves the lane on; nil if none is needed.
  package mutating func look(
    at lane: LaneNumber, _ view: Scheduler.RunView, now: WallTime
  ) -> Order? {
    guard let work = work[lane], work.pending > 0 else { return nil }
    guard let phase = view.phase, phase != .parked else {
      // Nothing stands in this lane any more, and no news came of its members one by one.
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
        return release(head, member: index, now)
      }
    }
    return nil
  }

  /// Decides about a head that is held or waits for its time.
  private mutating func release(_ head: LineEntry, member index: Int?, _ now: WallTime) -> Order? {
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

  /// Decides about a head that waits only for a slot, or for its upstream to be reachable.
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

  /// The sender's own setting that keeps a head from being run.
  ///
  /// The entry as it stands now counts as well: its content may have been replaced.
  private func standstill(of index: Int, at head: LineEntry, _ now: WallTime) -> RunSkip? {
    if head.standing == .held { return .held }
    // Before the first attempt only the sender's `notBefore` can make it wait.
    if head.attempts == 0, let due = head.dueAt, due > now { return .notBefore }
    return standstill(of: index, now)
  }

  /// The sender's own setting that keeps a member from being run, as far as it is known.
  private func standstill(of index: Int, _ now: WallTime) -> RunSkip? {
    if held[index] { return .held }
    if let wish = wishes[index], wish > now { return .notBefore }
    return nil
  }

  /// Passes over all undecided members of a lane, for a reason that concerns the whole lane.
  private mutating func pass(_ lane: LaneNumber, over reason: RunSkip) {
    for index in work[lane]?.members ?? [] where verdicts[index] == .pending {
      decide(index, .skipped(reason))
    }
  }

  /// Passes over all undecided members of a lane whose head does not move.
  ///
  /// A member's own reason comes first.
  private mutating func pass(_ lane: LaneNumber, over reason: RunSkip, _ now: WallTime) {
    for index in work[lane]?.members ?? [] where verdicts[index] == .pending {
      let own = namesEach ? nil : standstill(of: index, now)
      decide(index, .skipped(own ?? reason))
    }
  }
}
