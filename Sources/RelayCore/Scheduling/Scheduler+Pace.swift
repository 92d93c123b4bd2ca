// An upstream that says that requests come too fast: what follows for all of its lanes.
extension Scheduler {
  /// Notes what an answer says about how fast its upstream may be sent requests.
  mutating func learnPace(
    from report: AttemptReport, _ response: UpstreamResponse, of number: UpstreamNumber, now: Now
  ) {
    guard Self.asksForLess(response.status), let policy = upstreams[number]?.policy,
      let waitMs = waitMs(after: report, response.status, policy, now: now)
    else {
      upstreams.update(number) { $0.pace.taken(at: now.monotonic) }
      return
    }
    guard policy.holdsAllLanes, !report.isOfClient, !isLanesOwn(report.serial, at: number) else {
      return
    }
    if upstreams[number]?.pace.heldUntil(at: now.monotonic) == nil {
      upstreams[number]?.askedBackoff = []
    }
    let isNew = upstreams[number]?.pace.refused(
      beganAt: now.monotonic.adding(milliseconds: -report.durationMs), waitMs: waitMs,
      // 503 is also said by one that is in trouble however little it gets.
      isForRate: response.status == 429, at: now.monotonic)
    guard isNew == true else { return }
    upstreams[number]?.heldReason = report.fullSentence
    actions.append(.upstreamHeld(number, forMs: waitMs, reason: report.fullSentence))
  }

  /// Whether a status may say that requests come too fast.
  ///
  /// 429 does (RFC 6585 section 4), and 503 with a `Retry-After` (RFC 9110 section 15.6.4).
  private static func asksForLess(_ status: Int) -> Bool { status == 429 || status == 503 }

  /// For how long an upstream wants no requests; nil if it has not said that they come too fast, or
  /// its statuses mean something else.
  private mutating func waitMs(
    after report: AttemptReport, _ status: Int, _ policy: UpstreamPolicy, now: Now
  ) -> Int64? {
    guard policy.outcomes.outcome(of: report) == .unreachable else { return nil }
    guard let asked = report.retryAfterMs(at: now.wall) else {
      return status == 429 ? policy.retry.firstDelayMs : nil
    }
    let wait = min(asked, policy.retry.retryAfterMaxMs)
    return wait > 0 ? wait : nil
  }

  /// Whether only this lane is refused: its head was before, and others were taken meanwhile.
  private func isLanesOwn(_ serial: Serial, at number: UpstreamNumber) -> Bool {
    guard let flight = inFlight[serial], let lane = lanes[flight.lane],
      lane.head?.serial == serial, let pace = upstreams[number]?.pace
    else { return false }
    return lane.failuresInARow > 0 && pace.takenSinceRefusal > 0
  }
}
