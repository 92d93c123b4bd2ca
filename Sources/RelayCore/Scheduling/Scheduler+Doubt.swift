// Upstreams that must not get an envelope twice: each attempt is recorded before it begins, and an
// envelope that may have arrived is not sent again before that is known.
extension Scheduler {
  /// The reason that an envelope may have arrived, in words.
  static func doubtReason(_ sentence: String) -> String {
    "\(sentence), and it may have arrived"
  }

  /// The same reason where the relay was killed before it could say more.
  static let killedReason = "the relay ended in the middle of an attempt, and it may have arrived"

  /// Records that an attempt is about to begin; it begins once that is on disk.
  mutating func announce(_ head: LineEntry, now: Now) {
    actions.append(
      .record(
        Transition(
          serial: head.serial, lane: head.lane, upstream: head.upstream, change: .begin,
          at: now.wall, epoch: epoch(of: head.client))))
  }

  /// Begins an announced attempt, now that the announcement is durable.
  mutating func announced(_ head: LineEntry, isMoot: Bool, now: Now) {
    guard !isMoot else { return attemptVanished(head.serial, now: now) }
    lanes[head.lane]?.window[0].isInDoubt = true
    guard inFlight[head.serial]?.stage == .announced, mayStillBegin(head) else {
      takeBackAnnouncement(of: head, now: now)
      guard let flight = endFlight(head.serial, now: now) else { return }
      giveUpProbe(head.serial, of: flight.upstream, now: now)
      return fillSlots(of: flight.upstream, now: now)
    }
    inFlight[head.serial]?.stage = .sending
    upstreams.update(head.upstream) {
      $0.pace.announcementEnded(isSent: true, at: now.monotonic)
    }
    var head = head
    head.isInDoubt = true
    actions.append(.attempt(head))
    fillSlots(of: head.upstream, now: now)
  }

  /// Whether nothing has come in between that keeps the announced attempt from beginning.
  private func mayStillBegin(_ head: LineEntry) -> Bool {
    mayAttempt && !isReserved(head) && !paused.contains(.upstream(head.upstream))
      && !isPaused(lane: head.lane, of: head.client)
  }

  /// Takes back the announcement of an attempt that did not begin after all.
  mutating func takeBackAnnouncement(of head: LineEntry, now: Now) {
    record(
      Transition(
        serial: head.serial, lane: head.lane, upstream: head.upstream,
        change: .retry(at: head.dueAt ?? now.wall), at: now.wall,
        epoch: epoch(of: head.client)))
  }

  /// Acts on the answer to the question whether the upstream has the head of a lane.
  mutating func verificationEnded(
    _ report: AttemptReport, of head: LineEntry, wasGivenUp: Bool, policy: UpstreamPolicy, now: Now
  ) {
    if case .failed(.brokenOff, _) = report.event { return settleHead(of: head.lane, now: now) }
    var doubt: String?
    var response: UpstreamResponse?
    let change: Transition.Change
    switch VerificationVerdict(report.event) {
    case .arrived:
      change = .end(.delivered, reason: "asked for it, \(report.sentence): it had arrived")
      response = report.response(keptFor: change)
    case .notArrived: change = .retry(at: now.wall)
    case .unknown:
      doubt = "it may have arrived, and asked for it, \(report.sentence)"
      change = changeToTryAgain(
        head, after: report, wasGivenUp: wasGivenUp, policy: policy, now: now)
    }
    record(
      Transition(
        serial: head.serial, lane: head.lane, upstream: head.upstream, change: change,
        at: now.wall, response: response, doubt: doubt, isAnswered: report.status != nil,
        acceptedAt: head.acceptedAt, epoch: epoch(of: head.client)))
  }

  /// Blocks a lane whose head is in doubt, where only a person can settle it.
  ///
  /// - Returns: Whether the lane is blocked.
  mutating func blockIfInDoubt(_ head: LineEntry, now: Now) -> Bool {
    guard head.isInDoubt, upstreams[head.upstream]?.policy.ambiguity == .block else { return false }
    record(
      Transition(
        serial: head.serial, lane: head.lane, upstream: head.upstream,
        change: .block(reason: Self.killedReason), at: now.wall,
        epoch: epoch(of: head.client)))
    return true
  }

  /// Whether an envelope must not be changed, since the upstream may have it as it is, and has yet
  /// to be asked.
  func mustBeVerified(_ entry: LineEntry) -> Bool {
    entry.isInDoubt && upstreams[entry.upstream]?.policy.ambiguity == .verify
  }
}

extension Transition {
  /// Whether the envelope ends because of the upstream's answer: to an attempt, or to the question
  /// whether it has it.
  var endsByAnswer: Bool {
    guard let outcome = attempt?.outcome else { return response != nil }
    return outcome == .delivered || outcome == .refused
  }

  /// Whether the upstream may have the envelope after this end, so that it is asked before a
  /// requeued envelope is sent again.
  ///
  /// - Parameter wasInDoubt: Whether it may have had it before. That stays so, unless an attempt or
  ///   a question has shown otherwise.
  package func leavesDoubt(_ wasInDoubt: Bool) -> Bool {
    if case .end(.delivered, _) = change { return false }
    return attempt == nil ? wasInDoubt : doubt != nil
  }
}
