import RelayCore
import Testing

@Suite("What needs somebody")
struct NeedRulesTests {
  private static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  private func needs(_ change: (inout NeedFacts) -> Void) -> [Need] {
    var facts = NeedFacts(now: Self.now)
    change(&facts)
    var book = NeedBook()
    _ = book.update(facts)
    return book.needs
  }

  private func needsOfOne(_ change: (inout NeedFacts.Upstream) -> Void) -> [Need] {
    needs { facts in
      var upstream = NeedFacts.Upstream(name: "billing")
      change(&upstream)
      facts.upstreams = [upstream]
    }
  }

  private func failure(_ status: Int?, _ reason: String = "the upstream answered 422")
    -> NeedFacts.Failure
  {
    NeedFacts.Failure(status: status, reason: reason, since: Self.now, example: nil)
  }

  @Test("a relay whose upstreams answer needs nobody")
  func quiet() {
    #expect(needs { _ in }.isEmpty)
    let busy = needsOfOne { upstream in
      upstream.waiting = 10_000_000
      upstream.oldestWaitingAt = Self.now.adding(milliseconds: -NeedLimits.oldMs + 1)
      upstream.outcomes.delivered = 1000
      upstream.outcomes.refused = 100
      upstream.failure = failure(422)
    }
    #expect(busy.isEmpty)
  }

  @Test("one message of needs that is refused is critical, and about the upstream that is told")
  func refusedNews() throws {
    for (left, act) in [(EnvelopeState.failed, Operation.Action.requeue), (.blocked, .retry)] {
      let need = try #require(
        needs { facts in
          var last = failure(404, "the upstream answered 404")
          last.left = left
          facts.refusedNews = NeedFacts.RefusedNews(upstream: "alarm", count: 1, last: last)
        }.first)
      #expect(need.key == Need.Key(.notifyRefused, upstream: "alarm"))
      #expect(need.severity == .critical && need.cause == nil)
      #expect(need.title == "nobody is told what needs somebody: alarm answered 404")
      guard case .operate(let action, let selection)? = need.acts.first else {
        Issue.record("\(need.acts)")
        continue
      }
      #expect(action == act && selection.states == [left])
      #expect(selection.client == "waystation" && selection.lane == "needs")
    }
  }

  @Test("an upstream that refuses everything is critical, with what it answers")
  func allRefused() throws {
    let needs = needsOfOne { upstream in
      upstream.outcomes.refused = 1860
      upstream.failure = failure(400, "the upstream answered 400")
    }
    let need = try #require(needs.first)
    #expect(need.key.kind == .upstreamFailing)
    #expect(need.severity == .critical)
    #expect(need.title == "nothing gets through to billing: it answers 400")
    #expect(need.count == 1860)
    #expect(need.status == 400)
  }

  @Test("an upstream that fails a fifth of what it gets is a warning")
  func someRefused() throws {
    let needs = needsOfOne { upstream in
      upstream.outcomes.delivered = 80
      upstream.outcomes.retried = 20
      upstream.failure = failure(503, "the upstream answered 503")
    }
    let need = try #require(needs.first)
    #expect(need.key.kind == .upstreamFailing)
    #expect(need.severity == .warning)
    #expect(
      need.title
        == "billing failed 20 % of what it got within ten minutes; the last: it answered 503")
  }

  @Test(
    "what an upstream fails is listed in the state in which it is now",
    arguments: [
      (.failed, .list(upstream: "billing", [.failed])),
      (.blocked, .list(upstream: "billing", [.blocked])),
      (nil, .list(upstream: "billing", [.queued, .delivering])),
    ] as [(EnvelopeState?, NeedAct)])
  func listed(_ left: EnvelopeState?, _ act: NeedAct) throws {
    let needs = needsOfOne { upstream in
      upstream.outcomes.refused = 20
      upstream.failure = failure(422, "the upstream answered 422")
      upstream.failure?.left = left
    }
    let acts = try #require(needs.first).acts
    #expect(acts.contains(act))
    #expect(acts.contains(.probe(upstream: "billing")) == (left == nil), "what waits can be tried")
  }

  @Test(
    "a few refusals among others need nobody",
    arguments: [(0, 4), (96, 20), (1_000_000, 199_999)])
  func fewRefused(_ delivered: Int, _ refused: Int) {
    let needs = needsOfOne { upstream in
      upstream.outcomes.delivered = delivered
      upstream.outcomes.refused = refused
      upstream.failure = failure(422)
    }
    #expect(needs.isEmpty)
  }

  @Test("blocked lanes are one need for each reason, and those told of no more are counted")
  func blocked() {
    let needs = needs { facts in
      facts.blocked = [
        NeedFacts.BlockedGroup(
          upstream: "billing", count: 123,
          first: NeedFacts.Failure(
            status: 422, reason: "the upstream answered 422", since: Self.now,
            example: Need.Example(
              id: EnvelopeID(serial: 1, acceptedAt: Self.now, random: 0), words: "unknown account")
          )),
        NeedFacts.BlockedGroup(upstream: "api", count: 1, first: failure(409, "it is there")),
      ]
      facts.blockedLaneCount = 130
    }
    #expect(
      needs.map(\.title) == [
        "123 lanes stand: billing answered 422 “unknown account”",
        "one lane stands: api answered 409", "6 lanes more stand",
      ])
    #expect(needs.map(\.count) == [123, 1, 6])
  }

  @Test("an unreachable upstream and a paused one need somebody if something waits")
  func reachability() {
    #expect(needsOfOne { $0.isReachable = false }.isEmpty)
    let away = needsOfOne { upstream in
      upstream.isReachable = false
      upstream.waiting = 1
      upstream.lastError = "no connection could be made"
    }
    #expect(away.map(\.key.kind) == [.upstreamUnreachable])
    #expect(away.first?.cause == "no connection could be made")
    #expect(needsOfOne { $0.isPaused = true }.isEmpty)
    let paused = needsOfOne { upstream in
      upstream.isPaused = true
      upstream.isReachable = false
      upstream.waiting = 1
    }
    #expect(paused.map(\.title) == ["billing is paused, and one envelope waits"])
  }

  @Test("an upstream that is not configured needs somebody while something waits for it")
  func unconfigured() {
    #expect(needsOfOne { $0.isConfigured = false }.isEmpty)
    let needs = needsOfOne { upstream in
      upstream.isConfigured = false
      upstream.waiting = 2
    }
    #expect(needs.map(\.title) == ["billing is not configured, and 2 envelopes wait for it"])
    #expect(needs.first?.severity == .critical)
  }

  @Test(
    "a certificate is told of 14 days before its end, and presses in the last three",
    arguments: [
      (15, nil, ""), (13, NeedSeverity.warning, "ends in 13 days"),
      (2, .critical, "ends in 2 days"), (1, .critical, "ends in one day"), (0, nil, ""),
    ])
  func certificates(_ days: Int64, _ severity: NeedSeverity?, _ words: String) {
    let needs = needs { facts in
      facts.certificates = [
        NeedFacts.Certificate(
          what: "the certificate of relay", endsAt: Self.now.adding(milliseconds: days * 86_400_000)
        )
      ]
    }
    #expect(needs.first?.severity == severity)
    #expect(needs.isEmpty || needs[0].title == "the certificate of relay \(words)")
    #expect(needs.isEmpty || needs[0].since == Self.now, "it was not known before")
  }

  @Test("a refused reload is told with its first problem, and when it was")
  func reload() throws {
    let at = Self.now.adding(milliseconds: -60_000)
    let needs = needs { facts in
      facts.refusedReload = (at, ["upstreams.a.url: no URL", "limits: what?"])
      facts.configurationPath = "/etc/waystation.json"
    }
    let need = try #require(needs.first)
    #expect(need.since == at)
    #expect(need.cause == "upstreams.a.url: no URL; and 1 more")
    #expect(need.acts == [.checkConfiguration(path: "/etc/waystation.json")])
  }

  @Test("the store's trouble, its damage, little room and a doubted clock are told, worst first")
  func relay() {
    let needs = needs { facts in
      facts.clockDoubt = "it was set ahead"
      facts.roomBytes = NeedLimits.roomLowBytes - 1
      facts.storeDamage = "3 envelopes are quarantined"
      facts.storeTrouble = "disk full"
    }
    #expect(
      needs.map(\.key.kind) == [.storeTrouble, .storeDamaged, .roomLow, .clockDoubted])
    #expect(needs.map(\.severity) == [.critical, .critical, .warning, .warning])
  }

  @Test("a store that cannot be read is told, unless it cannot write either")
  func reads() {
    let words = "too many connections for role"
    let alone = needs { $0.readTrouble = words }
    #expect(alone.map(\.key.kind) == [.readsFailing] && alone.first?.severity == .critical)
    #expect(alone.first?.cause == words)
    let both = needs { facts in
      facts.readTrouble = words
      facts.storeTrouble = "it is away"
    }
    #expect(both.map(\.key.kind) == [.storeTrouble])
  }

  @Test("a store that is less safe than it is to be is critical, and a doubt of it a warning")
  func durability() throws {
    for isCertain in [true, false] {
      let need = try #require(
        needs { facts in
          facts.configurationPath = "/c.json"
          facts.durabilityDoubt = DurabilityDoubt(
            isCertain: isCertain, reason: "it is so", fix: "mend it")
        }.first)
      #expect(need.key == Need.Key(.durabilityLow))
      #expect(need.severity == (isCertain ? .critical : .warning))
      #expect(need.title.hasPrefix("it cannot be told") != isCertain)
      #expect(need.cause == "it is so; mend it" && need.acts == [.tryStore(path: "/c.json")])
    }
  }

  @Test("new keys of receipts are told since they sign, with the first of them")
  func keys() throws {
    let since = Self.now.adding(milliseconds: -60_000)
    let needs = needs { facts in
      facts.newReceiptKeys = ("kid-1", since)
      facts.configurationPath = "/c.json"
    }
    let need = try #require(needs.first)
    #expect(need.acts == [.acceptKeys(path: "/c.json")])
    #expect(need.key == Need.Key(.receiptKeysNew) && need.severity == .warning)
    #expect(need.since == since && need.cause?.hasSuffix("new first key, kid-1") == true)
  }

  @Test("a gap and an old envelope need somebody once they have waited for a quarter of an hour")
  func waits() {
    let since = Self.now.adding(milliseconds: -NeedLimits.gapMs)
    let gaps = needs { $0.gaps = (3, since) }
    #expect(
      gaps.map(\.title) == ["3 lanes wait for sequence numbers that do not come"])
    #expect(needs { $0.gaps = (3, since.adding(milliseconds: 1)) }.isEmpty)
    let old = needsOfOne { upstream in
      upstream.waiting = 1
      upstream.oldestWaitingAt = Self.now.adding(milliseconds: -NeedLimits.oldMs)
    }
    #expect(old.map(\.key.kind) == [.oldestWaiting])
  }

  @Test("what the last dead letter was answered is said of the others only if they were, too")
  func mixed() {
    let title = { (isMixed: Bool) in
      needsOfOne { $0.deadLetters = (38, failure(422), isMixed) }.map(\.sentence)
    }
    let beginning = "38 envelopes for billing became dead letters"
    #expect(title(false) == [beginning + ": it answered 422"])
    #expect(title(true) == [beginning + "; the last was answered 422"])
    let unsent = needsOfOne { $0.deadLetters = (38, failure(nil, "it could not be filled"), true) }
    #expect(unsent.map(\.sentence) == [beginning + ": the last: it could not be filled"])
  }

  @Test("what a title says is not said again as its cause")
  func once() {
    let needs = needsOfOne { upstream in
      upstream.outcomes.refused = 20
      upstream.failure = failure(nil, "the connection was cut, and it may have arrived")
    }
    #expect(
      needs.map(\.sentence) == [
        "nothing gets through to billing: the connection was cut, and it may have arrived"
      ])
  }

  @Test("no more needs of a kind are listed than the limit, and the last says how many there are")
  func bounded() {
    let needs = needs { facts in
      facts.upstreams = (0..<1000).map { number in
        var upstream = NeedFacts.Upstream(name: "u\(number)")
        upstream.isReachable = false
        upstream.waiting = 1
        return upstream
      }
    }
    #expect(needs.count == NeedLimits.listedOfKindMax)
    #expect(needs.last?.more == 1000 - NeedLimits.listedOfKindMax)
    #expect(needs.dropLast().allSatisfy { $0.more == 0 })
  }
}
