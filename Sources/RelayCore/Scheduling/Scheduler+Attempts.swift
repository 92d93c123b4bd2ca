// Choosing what is attempted next, and acting on how an attempt ended.

extension Scheduler {
  /// Gives free slots of an upstream to the lanes whose turn it is.
  ///
  /// Where envelopes go together, that waits until ``takeActions()``: then all that comes at one
  /// moment is known.
  mutating func fillSlots(of number: UpstreamNumber, now: Now) {
    guard mayAttempt, let policy = upstreams[number]?.policy else { return }
    guard policy.batch == nil else {
      unfilled[number] = now
      return
    }
    while hasFreeSlot(number, now: now), let head = popReady(of: number, now: now) {
      begin(head, now: now)
    }
  }

  /// Fills the slots of upstreams whose envelopes go together.
  mutating func fillDeferred() {
    while let (number, now) = unfilled.min(by: { $0.key < $1.key }) {
      unfilled[number] = nil
      guard mayAttempt, let policy = upstreams[number]?.policy.batch else { continue }
      endLinger(of: number, now: now)
      while hasFreeSlot(number, now: now), !lingers(number, policy, now: now),
        let head = popReady(of: number, now: now)
      {
        beginBatch(with: head, policy, now: now)
      }
    }
  }

  /// The head of the lane whose turn it is, taken from the queue; nil if none can begin.
  mutating func popReady(of number: UpstreamNumber, now: Now) -> LineEntry? {
    while let lane = upstreams.update(number, { $0.ready.popFirst() }) ?? nil {
      guard lanes[lane]?.phase == .ready, let head = lanes[lane]?.head, head.upstream == number
      else { continue }
      guard !isReserved(head) else {
        standStill(lane, hasTurn: true)
        continue
      }
      guard head.expiresAt <= now.wall else { return head }
      end(head, as: .expired, reason: Self.expiredReason(of: head), now: now)
    }
    return nil
  }

  private func hasFreeSlot(_ number: UpstreamNumber, now: Now) -> Bool {
    guard !paused.contains(.upstream(number)) else { return false }
    return upstreams[number]?.hasFreeSlot(now: now.monotonic) ?? false
  }

  static let expiredReason = "its deadline passed before the upstream took it"

  /// The reason that this envelope ends past its deadline.
  static func expiredReason(of entry: LineEntry) -> String {
    guard entry.isInDoubt else { return expiredReason }
    return "\(expiredReason), as far as is known: it may have arrived"
  }

  mutating func begin(_ head: LineEntry, now: Now) {
    let ambiguity = upstreams[head.upstream]?.policy.ambiguity ?? .retry
    let stage: Flight.Stage =
      ambiguity.announcesAttempts ? (head.isInDoubt ? .verifying : .announced) : .sending
    setPhase(of: head.lane, .inFlight)
    inFlight[head.serial] = Flight(lane: head.lane, upstream: head.upstream, stage: stage)
    upstreams.update(head.upstream) { $0.envelopesInFlight += 1 }
    noteBegun(
      head.serial, at: head.upstream, isAnnounced: stage == .announced, now: now)
    switch stage {
    case .announced: announce(head, now: now)
    case .sending: actions.append(.attempt(head))
    case .verifying: actions.append(.verify(head))
    }
  }

  /// Notes that a request takes a slot; it is named by its first envelope.
  ///
  /// - Parameter isAnnounced: Whether it is sent only later.
  mutating func noteBegun(
    _ serial: Serial, at number: UpstreamNumber, isAnnounced: Bool = false, now: Now
  ) {
    upstreams.update(number) { upstream in
      upstream.inFlight += 1
      upstream.linger = .none
      if !upstream.reachability.isReachable { upstream.probe = serial }
      upstream.reachability.attemptBegan()
      upstream.pace.began(isAnnounced: isAnnounced, at: now.monotonic)
    }
  }

  /// Acts on the end of an attempt.
  package mutating func attemptEnded(_ report: AttemptReport, now: Now) {
    guard let number = inFlight[report.serial]?.upstream else { return }
    let wasGivenUp = learn(from: report, of: number, now: now)
    let member = batches.member(report.serial)
    guard let flight = endFlight(report.serial, now: now), let policy = upstreams[number]?.policy
    else {
      return
    }
    defer { fillSlots(of: number, now: now) }
    guard !wasLetGo(report.serial, flight, now: now) else { return }
    let outcome = report.isInDoubt ? .ambiguous : policy.outcomes.outcome(of: report)
    guard let head = lanes[flight.lane]?.head, head.serial == report.serial else {
      if let member, lanes[flight.lane] != nil {
        recordMember(member, report, outcome: outcome, now: now)
      }
      return
    }
    if flight.stage == .verifying {
      return verificationEnded(
        report, of: head, wasGivenUp: wasGivenUp, policy: policy, now: now)
    }
    let change = change(
      for: head, after: report, outcome: outcome, wasGivenUp: wasGivenUp, policy: policy, now: now)
    let isToBeVerified = outcome == .ambiguous && policy.ambiguity == .verify
    record(
      transition(
        of: head, report, change: change, outcome: outcome,
        doubt: isToBeVerified ? Self.doubtReason(report.sentence) : nil, now: now))
  }

  /// The change that an attempt's end makes to its envelope.
  func transition(
    of entry: LineEntry, _ report: AttemptReport, change: Transition.Change, outcome: Outcome,
    doubt: String?, now: Now
  ) -> Transition {
    let attempt = AttemptRecord(
      number: entry.attempts + 1, startedAt: report.startedAt, durationMs: report.durationMs,
      outcome: outcome, status: report.status,
      error: outcome == .delivered ? nil : report.fullSentence)
    var transition = Transition(
      serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
      at: now.wall, attempt: attempt, response: report.response(keptFor: change), doubt: doubt,
      isAnswered: report.status != nil || report.isUnsettled, acceptedAt: entry.acceptedAt,
      epoch: epoch(of: entry.client))
    transition.isUnclear = report.isUnclear
    return transition
  }

  /// Acts on an attempt that was called off before it began: it is not recorded, and the envelope
  /// is unchanged.
  package mutating func attemptWithdrawn(_ serial: Serial, now: Now) {
    withdraw(serial, hasTurn: false, now: now)
  }

  /// - Parameter hasTurn: Whether its lane is the next to get a slot.
  mutating func withdraw(_ serial: Serial, hasTurn: Bool, now: Now) {
    guard let flight = endFlight(serial, now: now) else { return }
    giveUpProbe(serial, of: flight.upstream, now: now)
    defer { fillSlots(of: flight.upstream, now: now) }
    guard !wasLetGo(serial, flight, now: now), let head = lanes[flight.lane]?.head,
      head.serial == serial
    else { return }
    if flight.stage == .sending, head.isInDoubt {
      takeBackAnnouncement(of: head, now: now)
    } else {
      settleHead(of: flight.lane, now: now, hasTurn: hasTurn)
    }
  }

  /// Acts on an attempt that could not be made, since the envelope no longer waits.
  package mutating func attemptVanished(_ serial: Serial, now: Now) {
    guard let flight = endFlight(serial, now: now) else { return }
    giveUpProbe(serial, of: flight.upstream, now: now)
    if !wasLetGo(serial, flight, now: now) { vanish(serial, from: flight, now: now) }
    fillSlots(of: flight.upstream, now: now)
  }

  private mutating func vanish(_ serial: Serial, from flight: Flight, now: Now) {
    if lanes[flight.lane]?.head?.serial == serial {
      countOut(of: flight.lane, for: flight.upstream)
      advance(flight.lane, isAnswered: false, now: now)
    } else if let place = lanes[flight.lane]?.place(of: serial) {
      lanes[flight.lane]?.window.remove(at: place)
      windowEntries -= 1
      countOut(of: flight.lane, for: flight.upstream)
    }
  }

  /// Ends an attempt, and frees its slot unless others of the same request are under way.
  mutating func endFlight(_ serial: Serial, now: Now) -> Flight? {
    guard let flight = inFlight.removeValue(forKey: serial) else { return nil }
    let endsRequest = !flight.isBatched || batches.end(serial)
    upstreams.update(flight.upstream) { upstream in
      upstream.envelopesInFlight -= 1
      if endsRequest {
        upstream.inFlight -= 1
        if flight.isOutdated { upstream.outdated -= 1 }
      }
      if flight.stage == .announced {
        upstream.pace.announcementEnded(isSent: false, at: now.monotonic)
      }
    }
    return flight
  }

  /// Notes that an attempt that was the probe showed nothing: another one may go out at once.
  mutating func giveUpProbe(_ serial: Serial, of number: UpstreamNumber, now: Now) {
    guard upstreams[number]?.probe == serial else { return }
    upstreams[number]?.probe = nil
    upstreams[number]?.reachability.attemptWithdrawn(now: now.monotonic)
  }

  /// Notes what an attempt's end says about the upstream.
  ///
  /// - Returns: Whether the envelope needs no backoff of its own, since its upstream is unreachable
  ///   and all its lanes wait for a probe.
  mutating func learn(
    from report: AttemptReport, of number: UpstreamNumber, now: Now
  ) -> Bool {
    if report.saysNothingOfUpstream {
      giveUpProbe(report.serial, of: number, now: now)
      return false
    }
    if inFlight[report.serial]?.isOutdated == true {
      // It goes again at once, to where the upstream is sought now.
      if case .failed = report.event { return true }
      return false
    }
    // One request shows one thing, however many envelopes it carries.
    guard batches.learnsFirst(from: report.serial) else {
      return report.status == nil && upstreams[number]?.reachability.isReachable == false
    }
    let wasProbe = upstreams[number]?.probe == report.serial
    if wasProbe { upstreams[number]?.probe = nil }
    switch report.event {
    case .answered(let response):
      learnPace(from: report, response, of: number, now: now)
      let isTaken = upstreams[number]?.policy.outcomes.outcome(of: report) == .delivered
      upstreams[number]?.lastRefusal = isTaken ? nil : report.fullSentence
      noteAnswer(of: number, now: now)
      return false
    case .failed where report.isUnsettled:
      upstreams[number]?.lastRefusal = report.sentence
      noteAnswer(of: number, now: now)
      return false
    case .failed(let failure, _):
      upstreams.update(number) { $0.note(failure, in: report) }
      let isCertain = isCertain(failure, in: report, of: number)
      let change = upstreams[number]?.reachability.failed(
        wasProbe: wasProbe, isCertain: isCertain, now: now, random: &random)
      if change == .becameUnreachable {
        actions.append(
          .reachabilityChanged(number, isReachable: false, reason: report.sentence))
      }
      return upstreams[number]?.reachability.isReachable == false
    case .unsendable: return false
    }
  }

  /// Notes that an upstream is there, whatever it answered.
  private mutating func noteAnswer(of number: UpstreamNumber, now: Now) {
    let change = upstreams.update(number) { $0.answered(now: now) }
    guard change == .becameReachable else { return }
    actions.append(.reachabilityChanged(number, isReachable: true, reason: nil))
    endBackoff(of: number, now: now)
  }

  /// Whether this one failure tells that no other attempt could do better.
  ///
  /// What an answer says may be what a device has had the upstream say, if others were answered
  /// something else.
  private func isCertain(
    _ failure: ConnectionFailure, in report: AttemptReport, of number: UpstreamNumber
  ) -> Bool {
    guard failure == .credentials || failure == .notForwarded else { return false }
    return !(report.isToldByAnswer && upstreams[number]?.hasAnswered == true)
  }

  private mutating func change(
    for head: LineEntry, after report: AttemptReport, outcome: Outcome, wasGivenUp: Bool,
    policy: UpstreamPolicy, now: Now
  ) -> Transition.Change {
    switch outcome {
    case .delivered: return .end(.delivered, reason: report.sentence)
    case .refused:
      switch head.onFailure {
      case .skip: return .end(.failed, reason: report.sentence)
      case .block: return .block(reason: report.sentence)
      }
    case .ambiguous where policy.ambiguity == .block:
      return .block(reason: Self.doubtReason(report.sentence))
    case .unreachable, .ambiguous:
      return changeToTryAgain(
        head, after: report, wasGivenUp: wasGivenUp, policy: policy, now: now)
    }
  }

  /// Keeps the head in place for another attempt.
  ///
  /// - Parameter wasGivenUp: Whether it needs no backoff of its own, since its upstream is
  ///   unreachable.
  mutating func changeToTryAgain(
    _ head: LineEntry, after report: AttemptReport, wasGivenUp: Bool, policy: UpstreamPolicy,
    now: Now
  ) -> Transition.Change {
    if case .failed(.brokenOff, _) = report.event { return .retry(at: now.wall) }
    guard now.wall < head.expiresAt else {
      let reason = "\(Self.expiredReason(of: head)); at last \(report.sentence)"
      return .end(.expired, reason: reason)
    }
    guard !wasGivenUp else { return .retry(at: now.wall) }
    let failures = (lanes[head.lane]?.failuresInARow ?? 0) + 1
    lanes[head.lane]?.failuresInARow = failures
    let delay = policy.retry.delayMs(
      afterFailures: failures, retryAfterMs: report.retryAfterMs(at: now.wall), random: &random)
    noteBackoff(of: head, until: now.wall.adding(milliseconds: delay))
    return .retry(at: min(now.wall.adding(milliseconds: delay), head.expiresAt))
  }

  /// Ends the waits of lanes that failed to connect, since the upstream is back.
  private mutating func endBackoff(of number: UpstreamNumber, now: Now) {
    guard let lanes = upstreams[number]?.connectionBackoff else { return }
    upstreams[number]?.connectionBackoff = []
    endBackoff(of: lanes, at: number, now: now)
  }

  /// Ends the waits of those of some lanes that wait after a failure at an upstream.
  mutating func endBackoff(
    of lanes: NumberSet<LaneNumber>, at number: UpstreamNumber, now: Now
  ) {
    for lane in lanes.sorted() {
      self.lanes[lane]?.backoffs[number] = nil
      guard case .waiting = self.lanes[lane]?.phase, let head = self.lanes[lane]?.head,
        head.upstream == number
      else { continue }
      if head.attempts == 0 {
        // It has only taken over a former head's backoff, and may have a time of its own.
        settleHead(of: lane, now: now)
      } else {
        endWait(of: lane, now: now)
      }
    }
  }
}
