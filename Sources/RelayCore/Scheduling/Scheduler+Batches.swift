// Envelopes that go together in one request: which ones, and what follows from its end.
//
// A lane's envelopes go in their order. Several of one lane may be in one batch, and a lane is in
// one batch at a time. What such a request comes to is decided for each envelope by itself.
extension Scheduler {
  /// The most lanes that are passed over in search of those that go together.
  private static let passedLanesMax = 256
  /// The most shares that a batch is parted into, so that one deep lane leaves room for others.
  private static let sharesMax = 4

  /// Gives a slot to the lane whose turn it is, and to what goes together with its head.
  mutating func beginBatch(with head: LineEntry, _ policy: BatchPolicy, now: Now) {
    let number = head.upstream
    guard !batches.alone.contains(head.serial) else { return begin(head, now: now) }
    let portion = batches.portions[head.serial]
    // A probe risks no more than one.
    let isProbe = upstreams[number]?.reachability.isReachable == false
    let most = isProbe ? 1 : min(itemsMax(of: number, policy), portion?.count ?? .max)
    let others = min(upstreams[number]?.ready.count ?? 0, Self.sharesMax - 1)
    let share = max(1, most / (1 + others))
    var members = stretch(of: head, countMax: min(share, most), portion, now: now)
    var passed: [LaneNumber] = []
    while members.count < most, passed.count < Self.passedLanesMax,
      let next = popReady(of: number, now: now)
    {
      guard batches.portions[next.serial] == portion, !batches.alone.contains(next.serial),
        mayGoTogether(next, with: head, now: now)
      else {
        passed.append(next.lane)
        continue
      }
      members += stretch(
        of: next, countMax: min(share, most - members.count), portion, now: now)
    }
    for lane in passed.reversed() {
      guard let client = lanes[lane]?.client else { continue }
      upstreams[number]?.ready.prepend(lane, of: client)
    }
    begin(members, now: now)
  }

  /// Whether envelopes of two lanes may share a request.
  ///
  /// A client that the upstream refuses for itself may have it refuse the whole request.
  private func mayGoTogether(_ one: LineEntry, with other: LineEntry, now: Now) -> Bool {
    guard one.client != other.client, let pace = upstreams[one.upstream]?.pace else { return true }
    return !pace.limits(one.client, at: now.monotonic)
      && !pace.limits(other.client, at: now.monotonic)
  }

  /// A lane's head with those behind it that can be sent along.
  ///
  /// One that blocks the lane if it is refused is the last of them: nothing may arrive behind it
  /// before it has.
  private func stretch(
    of head: LineEntry, countMax: Int, _ portion: BatchPortion?, now: Now
  ) -> [LineEntry] {
    var members = [head]
    guard countMax > 1, let lane = lanes[head.lane], lane.order == .strict, !lane.goesOneByOne
    else { return members }
    for index in 1..<max(lane.window.count, 1) where members.count < countMax {
      let entry = lane.window[index]
      guard members.last?.onFailure != .block, entry.upstream == head.upstream,
        entry.standing == .queued, !entry.isInDoubt,
        entry.dueAt.map({ $0 <= now.wall }) ?? true, entry.expiresAt > now.wall,
        changing[entry.serial] == nil, !isReserved(entry),
        batches.portions[entry.serial] == portion, !batches.alone.contains(entry.serial)
      else { break }
      members.append(entry)
    }
    return members
  }

  private mutating func begin(_ members: [LineEntry], now: Now) {
    let first = members[0]
    for member in members {
      setPhase(of: member.lane, .inFlight)
      inFlight[member.serial] = Flight(
        lane: member.lane, upstream: member.upstream, stage: .sending, isBatched: true)
    }
    upstreams[first.upstream]?.envelopesInFlight += members.count
    batches.begin(members)
    noteBegun(first.serial, at: first.upstream, now: now)
    actions.append(
      .attemptTogether(members, bytesMax: upstreams[first.upstream]?.batchCeiling.bytes))
  }

  /// The most envelopes that are put together for an upstream.
  private func itemsMax(of number: UpstreamNumber, _ policy: BatchPolicy) -> Int {
    upstreams[number]?.batchCeiling.itemsMax(policy.itemsMax) ?? policy.itemsMax
  }

  // MARK: - Waiting for more

  /// Whether a batch that is not full is to wait for more, while the upstream has others to work
  /// on.
  mutating func lingers(_ number: UpstreamNumber, _ policy: BatchPolicy, now: Now) -> Bool {
    guard policy.lingerMs > 0, let upstream = upstreams[number], upstream.slotsTaken > 0,
      upstream.ready.count > 0, upstream.reachability.isReachable
    else { return false }
    let waiting = (waitingFor[number] ?? 0) - upstream.envelopesInFlight
    guard waiting < itemsMax(of: number, policy) else { return false }
    switch upstream.linger {
    case .over: return false
    case .until: return true
    case .none:
      upstreams[number]?.linger = .until(now.monotonic.adding(milliseconds: policy.lingerMs))
      return true
    }
  }

  /// Ends a wait for more whose time has come, whether or not there is a slot.
  mutating func endLinger(of number: UpstreamNumber, now: Now) {
    guard let end = upstreams[number]?.linger.end, end <= now.monotonic else { return }
    upstreams[number]?.linger = .over
  }

  // MARK: - The end

  /// Acts on the end of a request that carried several envelopes.
  ///
  /// - Parameters:
  ///   - reports: One for each of its members, in the order in which they were sent.
  ///   - subject: What the answer speaks of.
  ///   - bytes: The bytes of its body, before it was compressed; nil if it was for an upstream that
  ///     has been configured anew, of which it shows nothing.
  /// - Returns: What is made of it.
  @discardableResult
  package mutating func batchEnded(
    _ reports: [AttemptReport], subject: BatchAnswerSubject, bytes: Int?, now: Now
  ) -> BatchVerdict {
    var reports = reports
    guard let first = reports.first, let number = inFlight[first.serial]?.upstream,
      let policy = upstreams[number]?.policy
    else { return .all }
    for report in reports {
      if let lane = inFlight[report.serial]?.lane { lanes[lane]?.goesOneByOne = false }
    }
    let verdict = BatchVerdict(of: first, count: reports.count, subject, policy.outcomes)
    let isTooLarge = first.status == BatchVerdict.tooLarge
    let ceiling = isTooLarge ? upstreams[number]?.batchCeiling : nil
    if let bytes { learnSize(from: first, verdict, bytes: bytes, items: reports.count, of: number) }
    switch verdict {
    case .halved, .uncompressed:
      if verdict == .halved { batches.halve(reports.map(\.serial), bytes == nil ? nil : ceiling) }
      goAgain(reports, to: number, now: now)
      return verdict
    case .each: learnEach(from: &reports, of: number, now: now)
    case .unreadable: batches.separate(reports.map(\.serial))
    case .all:
      // The whole request may be refused for one client's envelopes in it.
      if let status = first.status, Self.mayAskForLess(first, status, at: now.wall) {
        batches.partClients(in: first.serial)
      }
    }
    for report in reports { attemptEnded(report, now: now) }
    return verdict
  }

  /// Learns from an answer that has a result for each.
  ///
  /// Where some are taken, the pace is not too fast: a limit of others is their own. So is one of
  /// a single client's envelopes, of which nobody knows what it means for others'.
  private mutating func learnEach(
    from reports: inout [AttemptReport], of number: UpstreamNumber, now: Now
  ) {
    let clients = Set(
      reports.compactMap { inFlight[$0.serial].flatMap { lanes[$0.lane]?.client } })
    if clients.count < 2 {
      for index in reports.indices where reports[index].wantsWait {
        reports[index].isOfClient = true
      }
    }
    let telling = reports.first { !$0.wantsWait } ?? reports.first { !$0.isOfClient }
    _ = learn(from: telling ?? reports[0], of: number, now: now)
  }

  /// Has the members go again, without a word of this in their records.
  private mutating func goAgain(_ reports: [AttemptReport], to number: UpstreamNumber, now: Now) {
    _ = learn(from: reports[0], of: number, now: now)
    // Backwards, so that they stand in their order again.
    for serial in reports.map(\.serial).reversed() { withdraw(serial, hasTurn: true, now: now) }
    fillSlots(of: number, now: now)
  }

  /// Learns from a request how large others may be.
  ///
  /// One that is too large by itself is why all were refused in which it was: these tell nothing of
  /// others, and what was known before them counts again.
  private mutating func learnSize(
    from report: AttemptReport, _ verdict: BatchVerdict, bytes: Int, items: Int,
    of number: UpstreamNumber
  ) {
    guard let line = upstreams[number] else { return }
    switch verdict {
    case .halved where report.status == BatchVerdict.tooLarge:
      guard upstreams[number]?.batchCeiling.refused(bytes: bytes, items: items) == true,
        let limit = upstreams[number]?.batchCeiling.bytes
      else { return }
      actions.append(.batchCeilingLowered(number, refusedBytes: bytes, bytesMax: limit))
    case .each: upstreams[number]?.batchCeiling.taken(bytes: bytes, items: items)
    case .all where line.policy.outcomes.outcome(of: report) == .delivered:
      upstreams[number]?.batchCeiling.taken(bytes: bytes, items: items)
    case .all where items == 1 && report.status == BatchVerdict.tooLarge:
      guard let ceiling = batches.takeCeiling(of: report.serial),
        ceiling.allowsMore(than: line.batchCeiling)
      else { return }
      upstreams[number]?.batchCeiling = ceiling
    case .all, .halved, .uncompressed, .unreadable: break
    }
  }

  /// Takes envelopes out of a batch before it is sent, since they need a request of their own, or
  /// did not fit.
  ///
  /// - Parameters:
  ///   - alone: Those that never go with others.
  ///   - left: Those that go the next time.
  ///   - sent: One that needs a request of its own and has this one's place; its end is reported
  ///     like that of any attempt.
  package mutating func leftOut(
    alone: [Serial], left: [Serial], sent: Serial? = nil, now: Now
  ) {
    batches.alone.formUnion(alone)
    for serial in alone + (sent.map { [$0] } ?? []) {
      if let lane = inFlight[serial]?.lane { lanes[lane]?.goesOneByOne = true }
    }
    for serial in (alone + left).sorted(by: >) { withdraw(serial, hasTurn: true, now: now) }
  }

  /// A member behind its lane's head ended: its change is made durable, and its lane stands as it
  /// stood.
  mutating func recordMember(
    _ entry: LineEntry, _ report: AttemptReport, outcome: Outcome, now: Now
  ) {
    guard noteChanging(entry) else { return }
    let change: Transition.Change =
      switch outcome {
      case .delivered: .end(.delivered, reason: report.sentence)
      case .refused where entry.onFailure == .skip: .end(.failed, reason: report.sentence)
      case .refused: .block(reason: report.sentence)
      case .unreachable, .ambiguous: .retry(at: now.wall)
      }
    actions.append(
      .record(transition(of: entry, report, change: change, outcome: outcome, doubt: nil, now: now))
    )
  }
}

extension AttemptReport {
  /// Whether it was answered that it came too fast.
  fileprivate var wantsWait: Bool { status == 429 || status == 503 }
}
