/// What needs somebody, as facts have it: a pure function.
///
/// The list is in the order in which it is shown: what presses more comes first, and of the same
/// severity the kinds in their order.
package struct NeedRules: Sendable {
  private let facts: NeedFacts
  private let growth: NeedGrowth

  /// Looks at facts.
  ///
  /// - Parameter growth: What was seen before.
  package init(_ facts: NeedFacts, growth: NeedGrowth) {
    self.facts = facts
    self.growth = growth
  }

  /// All needs, in the order in which they are shown; ``NeedSelection`` says which of them are.
  package func needs() -> [Need] {
    var needs: [Need] = store() + load()
    for upstream in facts.upstreams { needs += self.needs(of: upstream) }
    needs += Self.unreadable(facts) + Self.undurable(facts)
    needs += Self.untold(facts) + Self.unread(facts)
    needs += blocked() + configuration() + Self.certificates(facts)
    needs += keys() + clock() + gaps() + quotas()
    needs.sort {
      ($0.severity, $0.key.kind.order) < ($1.severity, $1.key.kind.order)
    }
    return needs
  }

  private func need(
    _ key: Need.Key, _ severity: NeedSeverity, since: WallTime? = nil, _ title: String,
    cause: String? = nil, status: Int? = nil, count: Int = 1, example: Need.Example? = nil,
    _ acts: [NeedAct]
  ) -> Need {
    Need(
      key: key, severity: severity, since: since ?? facts.now, title: title,
      // What the title ends with need not be said twice.
      cause: cause.flatMap { title.hasSuffix($0) ? nil : $0 },
      status: status, count: Int64(count), example: example, acts: acts)
  }

  // MARK: - The relay itself

  private func store() -> [Need] {
    var needs: [Need] = []
    if let trouble = facts.storeTrouble {
      needs.append(
        need(
          Need.Key(.storeTrouble), .critical, "the store cannot write: devices are turned away",
          cause: trouble, []))
    }
    if let damage = facts.storeDamage {
      needs.append(
        need(
          Need.Key(.storeDamaged), .critical, "a part of the store cannot be read", cause: damage,
          [.checkStore]))
    }
    if let room = room() { needs.append(room) }
    return needs
  }

  private func room() -> Need? {
    guard let left = facts.roomBytes else { return nil }
    let fullInMs = growth.roomEndsInMs(left, at: facts.now)
    let isSoon =
      fullInMs < NeedLimits.roomHorizonMs && left < 16 * NeedLimits.roomLowBytes
    guard left < NeedLimits.roomLowBytes || isSoon else { return nil }
    let isCritical = left < NeedLimits.roomVeryLowBytes || isSoon
    let title =
      left == 0
      ? "the disk is full: devices are told to come back later"
      : "room for envelopes runs out: \(left >> 20) MiB are left"
    let pace =
      fullInMs < 8 * NeedLimits.roomHorizonMs
      ? "at the present pace it lasts for \(Self.hours(fullInMs))" : nil
    return need(Need.Key(.roomLow), isCritical ? .critical : .warning, title, cause: pace, [])
  }

  private static func hours(_ ms: Int64) -> String {
    let minutes = ms / 60_000
    return minutes < 90 ? "\(minutes) minutes" : "\(minutes / 60) hours"
  }

  private func load() -> [Need] {
    guard facts.shedPerSecond > 0 else { return [] }
    return [
      need(
        Need.Key(.shedding), .critical, "devices are sent away: more comes in than can be stored",
        [.listClients])
    ]
  }

  private func keys() -> [Need] {
    guard let new = facts.newReceiptKeys else { return [] }
    return [
      need(
        Need.Key(.receiptKeysNew), .warning, since: new.since,
        "receipts are signed with new keys, and devices that know the former ones trust none of"
          + " them",
        cause: "put the folder of the former keys back, or tell devices of the new first key,"
          + " \(new.firstKid)",
        facts.configurationPath.map { [.acceptKeys(path: $0)] } ?? [])
    ]
  }

  private func clock() -> [Need] {
    guard let doubt = facts.clockDoubt else { return [] }
    return [
      need(
        Need.Key(.clockDoubted), .warning, "the machine's clock is doubted", cause: doubt, [])
    ]
  }

  private func configuration() -> [Need] {
    guard let refused = facts.refusedReload else { return [] }
    let more = refused.problems.count - 1
    return [
      need(
        Need.Key(.configurationRefused), .warning, since: refused.at,
        "a reload was refused, and the configuration before it goes on",
        cause: refused.problems.first.map { more > 0 ? "\($0); and \(more) more" : $0 },
        count: refused.problems.count,
        facts.configurationPath.map { [.checkConfiguration(path: $0)] } ?? [])
    ]
  }

  private func quotas() -> [Need] {
    facts.quotaRefusals.keys.sorted().compactMap { name in
      let count = growth.quotaRefusals(name, facts.quotaRefusals[name] ?? 0)
      guard count >= NeedLimits.quotaRefusalsMin else { return nil }
      return need(
        Need.Key(.quotaRefusals, subject: name), .warning,
        "clients are refused by the quota \(name)", count: count, [.listClients])
    }
  }

  private func gaps() -> [Need] {
    guard let gaps = facts.gaps,
      facts.now.milliseconds(since: gaps.since) >= NeedLimits.gapMs
    else { return [] }
    return [
      need(
        Need.Key(.gapsWaiting), .warning, since: gaps.since,
        Self.lanes(
          gaps.count, "waits for sequence numbers that do not come",
          "wait for sequence numbers that do not come"), count: gaps.count, [.listLanes])
    ]
  }

  // MARK: - Upstreams

  private func needs(of upstream: NeedFacts.Upstream) -> [Need] {
    guard upstream.isConfigured else { return [unconfigured(upstream)].compactMap { $0 } }
    var needs: [Need] = []
    if upstream.isPaused {
      if upstream.waiting > 0 { needs.append(paused(upstream)) }
    } else if !upstream.isReachable {
      // The next envelope is its probe: as long as nothing waits there is nothing to mend.
      if upstream.waiting > 0 {
        needs.append(
          upstream.lastFailure == .credentials ? refused(upstream) : unreachable(upstream))
      }
    } else {
      needs += [failing(upstream), old(upstream), growing(upstream)].compactMap { $0 }
    }
    needs += [deadLetters(upstream), expired(upstream)].compactMap { $0 }
    return needs
  }

  private func unconfigured(_ upstream: NeedFacts.Upstream) -> Need? {
    guard upstream.waiting > 0 else { return nil }
    return need(
      Need.Key(.upstreamUnconfigured, upstream: upstream.name), .critical,
      "\(upstream.name) is not configured, and "
        + Self.envelopes(upstream.waiting, "waits", "wait") + " for it",
      count: upstream.waiting, [.list(upstream: upstream.name, EnvelopeState.waiting)])
  }

  private func paused(_ upstream: NeedFacts.Upstream) -> Need {
    need(
      Need.Key(.upstreamPaused, upstream: upstream.name), .warning,
      "\(upstream.name) is paused, and " + Self.envelopes(upstream.waiting, "waits", "wait"),
      count: upstream.waiting, [.resume(upstream: upstream.name)])
  }

  private func unreachable(_ upstream: NeedFacts.Upstream) -> Need {
    let words =
      switch upstream.lastFailure {
      case .malformedResponse: "answers what cannot be used"
      case .notForwarded: "does not know where to forward what it is handed"
      default: "cannot be reached"
      }
    return need(
      Need.Key(.upstreamUnreachable, upstream: upstream.name), .critical, since: upstream.since,
      "\(upstream.name) \(words), and "
        + Self.envelopes(upstream.waiting, "waits", "wait"),
      cause: upstream.lastError, count: upstream.waiting,
      [.probe(upstream: upstream.name), .pause(upstream: upstream.name)])
  }

  private func refused(_ upstream: NeedFacts.Upstream) -> Need {
    need(
      Need.Key(.credentialsRefused, upstream: upstream.name), .critical, since: upstream.since,
      "the relay's credentials for \(upstream.name) are refused, and "
        + Self.envelopes(upstream.waiting, "waits", "wait")
        + " until the credentials are mended, and read again by a reload (SIGHUP)",
      cause: upstream.lastError, count: upstream.waiting,
      [
        .tryCredentials(upstream: upstream.name), .probe(upstream: upstream.name),
        .pause(upstream: upstream.name),
      ])
  }

  private func failing(_ upstream: NeedFacts.Upstream) -> Need? {
    let outcomes = upstream.outcomes
    guard let failure = upstream.failure, outcomes.failing >= NeedLimits.failingMin,
      outcomes.failing * 100 >= outcomes.answered * NeedLimits.failingPercent
    else { return nil }
    let isNothing = outcomes.delivered == 0
    let verb = isNothing ? "answers" : "answered"
    let answer = failure.answer.map { "it \(verb) \($0)" } ?? failure.reason
    let percent = outcomes.failing * 100 / outcomes.answered
    let title =
      isNothing
      ? "nothing gets through to \(upstream.name): \(answer)"
      : "\(upstream.name) failed \(percent) % of what it got within ten minutes; the last: "
        + answer
    return need(
      Need.Key(.upstreamFailing, upstream: upstream.name),
      isNothing && outcomes.failing >= NeedLimits.failingCriticalMin ? .critical : .warning,
      since: failure.since, title, cause: failure.cause, status: failure.status,
      count: outcomes.failing, example: failure.example,
      (failure.example.map { [.show($0.id)] } ?? []) + list(failure, of: upstream)
        + (failure.left == nil ? [.probe(upstream: upstream.name)] : []) + [
          .pause(upstream: upstream.name)
        ])
  }

  /// Where the others are; nowhere, once all dead letters are settled.
  private func list(
    _ failure: NeedFacts.Failure, of upstream: NeedFacts.Upstream
  ) -> [NeedAct] {
    guard failure.left != .failed || upstream.deadLetterCount != 0 else { return [] }
    return [.list(upstream: upstream.name, failure.left.map { [$0] } ?? [.queued, .delivering])]
  }

  private func deadLetters(_ upstream: NeedFacts.Upstream) -> Need? {
    guard let letters = upstream.deadLetters, letters.count >= NeedLimits.deadLettersMin else {
      return nil
    }
    let last = letters.last
    let answered = letters.isMixed ? "; the last was answered" : ": it answered"
    return need(
      Need.Key(.deadLetters, upstream: upstream.name), .warning, since: last.since,
      "\(letters.count) envelopes for \(upstream.name) became dead letters"
        + (last.answer.map { "\(answered) \($0)" } ?? ""),
      cause: letters.isMixed ? last.cause.map { "the last: \($0)" } : last.cause,
      status: last.status, count: letters.count, example: last.example,
      (last.example.map { [.show($0.id)] } ?? []) + [
        .list(upstream: upstream.name, [.failed]),
        .operate(.requeue, Self.deadLetters(of: upstream.name, since: last.since)),
        .operate(.cancel, Self.deadLetters(of: upstream.name, since: last.since)),
      ])
  }

  private static func deadLetters(of upstream: String, since: WallTime) -> EnvelopeSelection {
    var letters = EnvelopeSelection(upstream: upstream, states: [.failed])
    // What a person has given up is not sent after all.
    letters.isDiscarded = false
    letters.ended.since = since
    return letters
  }

  private func expired(_ upstream: NeedFacts.Upstream) -> Need? {
    guard upstream.outcomes.expired > 0, let last = upstream.expired else { return nil }
    return need(
      Need.Key(.envelopesExpired, upstream: upstream.name), .warning, since: last.since,
      Self.envelopes(upstream.outcomes.expired, "for", "for")
        + " \(upstream.name) expired within ten minutes",
      cause: last.reason, count: upstream.outcomes.expired, example: last.example,
      [.list(upstream: upstream.name, [.expired])])
  }

  private func old(_ upstream: NeedFacts.Upstream) -> Need? {
    guard let oldest = upstream.oldestWaitingAt,
      facts.now.milliseconds(since: oldest) >= NeedLimits.oldMs
    else { return nil }
    return need(
      Need.Key(.oldestWaiting, upstream: upstream.name), .warning, since: oldest,
      "\(upstream.name) answers, and its oldest envelope waits all the same",
      cause: "it may be held, parked or paused, or behind one that is refused again and again",
      count: upstream.waiting, [.list(upstream: upstream.name, EnvelopeState.waiting)])
  }

  private func growing(_ upstream: NeedFacts.Upstream) -> Need? {
    guard let growth = growth.backlog(of: upstream.name, upstream.waiting, at: facts.now) else {
      return nil
    }
    return need(
      Need.Key(.backlogGrowing, upstream: upstream.name), .warning, since: growth.since,
      "more arrives for \(upstream.name) than it takes: "
        + Self.envelopes(growth.more, "more waits", "more wait"),
      cause: "it may be slow or limited in its rate, or one client sends more than it should",
      count: growth.more,
      [.list(upstream: upstream.name, EnvelopeState.waiting), .listClients])
  }

  // MARK: - Lanes

  private func blocked() -> [Need] {
    var needs: [Need] = []
    var told = 0
    for group in facts.blocked {
      told += group.count
      needs.append(blocked(group))
    }
    let more = facts.blockedLaneCount - told
    if more > 0 {
      needs.append(
        need(
          Need.Key(.lanesBlocked), .warning, Self.lanes(more, "more stands", "more stand"),
          count: more, [.listLanes]))
    }
    return needs
  }

  private func blocked(_ group: NeedFacts.BlockedGroup) -> Need {
    let first = group.first
    let answer = first.answer.map { "\(group.upstream) answered \($0)" }
    return need(
      Need.Key(
        .lanesBlocked, upstream: group.upstream,
        subject: "\(first.status.map(String.init) ?? "") \(first.reason)"),
      .warning, since: first.since,
      Self.lanes(group.count, "stands", "stand") + ": " + (answer ?? first.reason),
      cause: answer == nil ? nil : first.cause, status: first.status, count: group.count,
      example: first.example,
      (first.example.map { [.show($0.id)] } ?? [])
        + [.operate(.retry, Self.heads(of: group)), .operate(.discard, Self.heads(of: group))])
  }

  /// The reason tells apart those that no answer of a status does.
  private static func heads(of group: NeedFacts.BlockedGroup) -> EnvelopeSelection {
    var heads = EnvelopeSelection(upstream: group.upstream, states: [.blocked])
    heads.status = group.first.status
    if group.first.status == nil { heads.reason = group.first.reason }
    return heads
  }

  // MARK: - Words

  private static func lanes(_ count: Int, _ one: String, _ many: String) -> String {
    count == 1 ? "one lane \(one)" : "\(count) lanes \(many)"
  }

  private static func envelopes(_ count: Int, _ one: String, _ many: String) -> String {
    count == 1 ? "one envelope \(one)" : "\(count) envelopes \(many)"
  }
}

extension NeedFacts.Failure {
  /// The status that the upstream answered, and its words; nil if it did not answer.
  fileprivate var answer: String? {
    status.map { status in "\(status)" + (example?.words.map { " “\($0)”" } ?? "") }
  }

  /// The reason, unless it says no more than the status does.
  fileprivate var cause: String? {
    status.map { reason == "the upstream answered \($0)" } ?? false ? nil : reason
  }
}

extension NeedKind {
  /// The place among the kinds.
  fileprivate var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
