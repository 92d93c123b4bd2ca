// An upstream that says that requests come too fast: what follows for all of its lanes.
extension Scheduler {
  /// Notes what an answer says about how fast its upstream may be sent requests.
  mutating func learnPace(
    from report: AttemptReport, _ response: UpstreamResponse, of number: UpstreamNumber, now: Now
  ) {
    let beganAt = now.monotonic.adding(milliseconds: -report.durationMs)
    guard Self.mayAskForLess(report, response.status, at: now.wall),
      upstreams[number]?.policy.outcomes.outcome(of: report) != .delivered
    else {
      let isAsked = upstreams[number]?.pace.comparesClients == true
      let clients = isAsked ? clients(in: report.serial) : []
      upstreams.update(number) {
        $0.pace.taken(from: clients, beganAt: beganAt, at: now.monotonic)
      }
      return
    }
    guard let policy = upstreams[number]?.policy,
      let waitMs = waitMs(after: report, response.status, policy, now: now)
    else { return }
    guard policy.holdsAllLanes, !report.isOfClient else { return }
    let clients = clients(in: report.serial)
    let isClientsOwn = upstreams[number]?.pace.isClientsOwn(
      clients, beganAt: beganAt, waitMs: waitMs, at: now.monotonic)
    guard isClientsOwn == false,
      !isLanesOwn(report.serial, clients, at: number)
    else { return }
    if upstreams[number]?.pace.heldUntil(at: now.monotonic) == nil {
      upstreams[number]?.askedBackoff = []
    }
    let isNew = upstreams[number]?.pace.refused(
      beganAt: beganAt, waitMs: waitMs,
      // 503 is also said by one that is in trouble however little it gets.
      isForRate: response.status == 429, at: now.monotonic)
    guard isNew == true else { return }
    upstreams[number]?.heldReason = report.fullSentence
    actions.append(.upstreamHeld(number, forMs: waitMs, reason: report.fullSentence))
  }

  /// Whether an answer may say that requests come too fast.
  ///
  /// 429 does (RFC 6585 section 4), and 503 with a `Retry-After` (RFC 9110 section 15.6.4), also
  /// with one for a time that is over. Neither shows that a request was taken.
  static func mayAskForLess(
    _ report: AttemptReport, _ status: Int, at time: WallTime
  ) -> Bool {
    status == 429 || (status == 503 && report.retryAfterMs(at: time) != nil)
  }

  /// For how long an upstream wants no requests; nil if it has not said that they come too fast, or
  /// its statuses mean something else.
  private mutating func waitMs(
    after report: AttemptReport, _ status: Int, _ policy: UpstreamPolicy, now: Now
  ) -> Int64? {
    guard policy.outcomes.outcome(of: report) == .unreachable else { return nil }
    let asked = report.retryAfterMs(at: now.wall).map { min($0, policy.retry.retryAfterMaxMs) } ?? 0
    // A time that is over already is as good as none.
    guard asked <= 0 else { return asked }
    return status == 429 ? policy.retry.firstDelayMs : nil
  }

  /// The clients whose envelopes are in the request of an envelope that is under way.
  private func clients(in serial: Serial) -> Set<ClientNumber> {
    guard let flight = inFlight[serial] else { return [] }
    if flight.isBatched, let members = batches.members(with: serial) {
      return Set(members.map(\.client))
    }
    return lanes[flight.lane].map { [$0.client] } ?? []
  }

  /// Whether only this lane is refused, or a part of a request that was refused: its head was
  /// before, and others were taken meanwhile.
  private func isLanesOwn(
    _ serial: Serial, _ clients: Set<ClientNumber>, at number: UpstreamNumber
  ) -> Bool {
    guard clients.count <= 1 || batches.portions[serial]?.isPartOfPart == true else { return false }
    guard let flight = inFlight[serial], let lane = lanes[flight.lane],
      lane.head?.serial == serial, let pace = upstreams[number]?.pace
    else { return false }
    return lane.failuresInARow > 0 && pace.takenSinceRefusal > 0
  }
}
