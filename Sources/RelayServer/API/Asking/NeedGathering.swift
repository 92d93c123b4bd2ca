import EventLoop
import RelayCore
import Synchronization

/// Gathers what is known of the relay, for the list of what needs somebody.
///
/// What the store cannot be asked just now is left out: the list has to tell of a store in trouble.
struct NeedGathering: Sendable {
  let relay: RelayParts
  var store: (any EnvelopeStore)? { relay.reachableStore }

  /// The facts as of now.
  func facts(
    _ keeper: NeedsKeeper, _ memory: inout NeedsKeeper.Memory
  ) async -> NeedFacts {
    let now = relay.now()
    let snapshot = await relay.dispatcher.snapshot()
    var facts = NeedFacts(now: now.wall)
    addRelay(to: &facts, now)
    let changed = keeper.takeChangedHeads()
    memory.examples.begin(besides: changed)
    await addUpstreams(to: &facts, snapshot, now, keeper, &memory.examples)
    await addBlocked(to: &facts, changed, &memory)
    await addRefusedNews(to: &facts, keeper, &memory.examples)
    addGaps(to: &facts, snapshot)
    memory.examples.drop()
    return facts
  }

  // MARK: - The relay itself

  private func addRelay(to facts: inout NeedFacts, _ now: Now) {
    let statistics = relay.store.statistics()
    facts.storeTrouble = statistics.trouble
    facts.readTrouble = statistics.readTrouble
    facts.durabilityDoubt = statistics.durabilityDoubt
    if let files = relay.embedded?.files() {
      facts.storeDamage = files.damage.sentence
      facts.roomBytes = files.shownRoomBytes
    }
    facts.shedPerSecond = relay.meter.perSecond(.shed, at: now.monotonic)
    for (name, count) in relay.metrics.posts.quotas { facts.quotaRefusals["\(name)"] = Int(count) }
    facts.certificateProblems = relay.certificateProblems()
    facts.certificates = relay.certificateEnds
    if let keys = relay.receiptKeys, let strangeness = keys.strangeness {
      facts.newReceiptKeys = (keys.ring.keys[0].id, strangeness.since)
    }
    facts.clockDoubt = WallClock.doubt
    let inForce = relay.inForce.withLock { $0 }
    facts.configurationPath = inForce.settings.configuration.origin?.path
    if let reload = inForce.lastReload, reload.result == .refused {
      facts.refusedReload = (reload.at, reload.problems)
    }
  }

  // MARK: - Upstreams

  private func addUpstreams(
    to facts: inout NeedFacts, _ snapshot: DispatcherSnapshot, _ now: Now, _ keeper: NeedsKeeper,
    _ examples: inout NeedExamples
  ) async {
    let lists = ListUpstreams(EndpointContext(relay))
    for configured in lists.configured(snapshot, now) {
      var upstream = NeedFacts.Upstream(name: configured.name)
      upstream.isReachable = configured.view.isReachable
      upstream.isPaused = configured.view.isPaused
      upstream.since = configured.view.since
      upstream.waiting = configured.view.waiting
      upstream.oldestWaitingAt = configured.view.oldestWaitingAt
      upstream.lastError = configured.view.lastError
      upstream.lastFailure = configured.view.lastFailure
      if let number = relay.upstreamNumber(configured.name) {
        upstream.hasUnknownResults = relay.dispatcher.resultless.contains(number)
        await addOutcomes(to: &upstream, number, now, keeper, &examples)
      }
      facts.upstreams.append(upstream)
    }
    guard store != nil else { return }
    for unconfigured in (try? await lists.unconfigured(snapshot.unconfigured)) ?? [] {
      var upstream = NeedFacts.Upstream(name: unconfigured.name)
      upstream.isConfigured = false
      upstream.waiting = unconfigured.view.waiting
      upstream.oldestWaitingAt = unconfigured.view.oldestWaitingAt
      facts.upstreams.append(upstream)
    }
  }

  private func addOutcomes(
    to upstream: inout NeedFacts.Upstream, _ number: UpstreamNumber, _ now: Now,
    _ keeper: NeedsKeeper, _ examples: inout NeedExamples
  ) async {
    let outcomes = keeper.outcomes(of: number, at: now)
    upstream.outcomes = outcomes.figures
    upstream.deadLetterCount = outcomes.deadLetters?.count ?? 0
    if let failure = outcomes.failure, outcomes.figures.failing >= NeedLimits.failingMin {
      upstream.failure = await self.failure(failure.sample, since: failure.since, &examples)
    }
    if let letters = outcomes.deadLetters, letters.count >= NeedLimits.deadLettersMin {
      let last = await failure(letters.last, since: letters.since, &examples)
      upstream.deadLetters = (letters.count, last, letters.isMixed)
    }
    if let expired = outcomes.expired, outcomes.figures.expired > 0 {
      upstream.expired = await failure(expired, since: expired.at, &examples)
    }
  }

  private func failure(
    _ sample: OutcomeWindow.Sample, since: WallTime, _ examples: inout NeedExamples
  ) async -> NeedFacts.Failure {
    var failure = NeedFacts.Failure(
      status: sample.status, reason: sample.reason, left: sample.left, since: since, example: nil)
    if let serial = sample.serial {
      failure.example = await examples.example(
        serial, at: sample.at, status: sample.status, from: store)?.example
    }
    return failure
  }

  // MARK: - Lanes

  /// The groups that are listed have examples.
  private func addBlocked(
    to facts: inout NeedFacts, _ changed: ChangedHeads, _ memory: inout NeedsKeeper.Memory
  ) async {
    let (lanes, count) = relay.dispatcher.blockedLanes(countMax: BlockedGroups.lanesMax)
    await memory.blocked.update(lanes, besides: changed, from: store)
    facts.blockedLaneCount = count
    let shownMax = NeedLimits.listedOfKindMax
    for (place, group) in memory.blocked.groups(shownMax: shownMax).enumerated() {
      let example =
        place < shownMax
        ? await memory.examples.example(group.first, status: group.status, from: store) : nil
      let first = NeedFacts.Failure(
        status: group.status, reason: group.reason, since: example?.since ?? facts.now,
        example: example?.example)
      facts.blocked.append(
        NeedFacts.BlockedGroup(upstream: group.upstream, count: group.count, first: first))
    }
  }

  /// The scheduler knows since when the lanes wait: nothing has to be looked for.
  private func addGaps(to facts: inout NeedFacts, _ snapshot: DispatcherSnapshot) {
    guard let since = snapshot.parkedLanes.earliest else { return }
    let longAgo = facts.now.adding(milliseconds: -NeedLimits.gapMs)
    facts.gaps = (snapshot.parkedLanes.count(through: longAgo), since)
  }
}
