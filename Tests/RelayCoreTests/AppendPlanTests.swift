import RelayCore
import Testing

/// What becomes of posts, by facts that were gathered for the whole batch.
@Suite("What is to be written of posts")
struct AppendPlanTests {
  private static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  private func draft(
    client: String = "c", lane: String = "l", key: String? = nil, fingerprint: UInt8 = 1,
    sequence: Int64? = nil, coalesce: String? = nil
  ) -> EnvelopeDraft {
    var draft = EnvelopeDraft(
      client: client, lane: lane, upstream: "u",
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([])),
      expiresAt: Self.now.adding(milliseconds: 1000))
    draft.key = key
    draft.fingerprint = [fingerprint]
    draft.sequence = sequence
    draft.coalesce = coalesce
    return draft
  }

  private func facts(
    _ limits: NameLimits = NameLimits(), isFree: Bool = true
  ) -> GatheredFacts {
    var facts = GatheredFacts(given: GivenNumbers(), nameLimits: limits) { _, _ in isFree }
    facts.fill(upstream: "u", UpstreamNumber(rawValue: 1))
    return facts
  }

  /// Plans one post after the other, each by what those before it have changed.
  private func plan(
    _ drafts: [EnvelopeDraft], _ facts: inout GatheredFacts
  ) throws -> [PostPlan] {
    try drafts.map { draft in
      let plan = try AppendRules.plan(draft, now: Self.now, random: 7, facts: facts)
      facts.note(plan, of: draft)
      return plan
    }
  }

  private func results(_ plans: [PostPlan]) -> [AppendResult] {
    plans.map { plan in
      switch plan {
      case .answer(let result): result
      case .insert(let plan): plan.result(position: 0)
      case .void: .void
      case .replace(let plan): plan.result
      }
    }
  }

  private func id(_ serial: Serial) -> EnvelopeID {
    EnvelopeID(serial: serial, acceptedAt: Self.now, random: 7)
  }

  @Test("a key that comes twice in a batch is stored once")
  func keys() throws {
    var facts = facts()
    let plans = try plan(
      [draft(key: "k"), draft(key: "k"), draft(key: "k", fingerprint: 2)], &facts)
    #expect(
      results(plans) == [
        .accepted(id: id(1), state: .queued, position: 0), .duplicate(id: id(1), state: .queued),
        .keyConflict(id: id(1)),
      ])
    #expect(facts.given.lastSerial == 1 && facts.given.names.lanes == 1)
  }

  @Test("a key that is remembered alone says that it came, and refuses other content")
  func rememberedKeys() throws {
    var facts = facts()
    facts.fill(remembered: AppendQuestions.Key(client: "c", key: "k"), [1])
    let plans = try plan(
      [
        draft(key: "k"), draft(key: "k", fingerprint: 2), draft(key: "k", sequence: 1),
        draft(client: "d", key: "k"),
      ], &facts)
    #expect(
      results(plans) == [
        .forgotten, .keyConflict(id: nil), .forgotten,
        .accepted(id: id(1), state: .queued, position: 0),
      ])
    #expect(facts.given.names.clients == 1)
  }

  @Test("numbers of a batch wait for each other, whatever their order")
  func numbers() throws {
    var facts = facts()
    let plans = try plan([3, 1, 5, 2, 3, 6].map { draft(sequence: $0) }, &facts)
    #expect(
      results(plans) == [
        .parked(id: id(1), missing: .none), .accepted(id: id(2), state: .queued, position: 0),
        .parked(id: id(3), missing: .none), .accepted(id: id(4), state: .queued, position: 0),
        .duplicate(id: id(1), state: .parked), .parked(id: id(5), missing: .none),
      ])
    let lane = LaneNumber(rawValue: 1)
    #expect(facts.gap(around: 4, in: lane) == SequenceGap(SequenceRange(first: 4, last: 4)))
    #expect(facts.gap(around: 2, in: lane) == nil)
    #expect(facts.firstMissing(in: lane) == 4)
    #expect(facts.placedThrough(lane) == 2)
  }

  @Test("a number within a gap leaves the rest of it on both sides")
  func withinGap() throws {
    let lane = KnownLane(
      client: ClientNumber(rawValue: 1), number: LaneNumber(rawValue: 1), lastSequence: 9)
    let gap = SequenceRange(first: 3, last: 8)
    let plan = NumberPlan(taking: 5, in: lane, gap: gap, placedThrough: 2)
    #expect(plan.closed == gap && plan.highest == 9 && plan.isParked && !plan.mayFlow)
    #expect(plan.lowerGap == SequenceRange(first: 3, last: 4))
    #expect(plan.upperGap == SequenceRange(first: 6, last: 8))
    #expect(plan.placedThrough == nil)
    let first = NumberPlan(taking: 3, in: lane, gap: gap, placedThrough: 2)
    #expect(first.lowerGap == nil && first.upperGap == SequenceRange(first: 4, last: 8))
    #expect(!first.isParked && first.mayFlow && first.placedThrough == 3)
  }

  @Test("what nobody waits for any more is refused, and told how far the lane is")
  func passed() throws {
    var facts = facts()
    let lane = KnownLane(
      client: ClientNumber(rawValue: 1), number: LaneNumber(rawValue: 1), lastSequence: 9)
    facts.fill(client: "c", lane.client, laneCount: 1)
    facts.fill(
      lane: LaneName(client: "c", lane: "l"), lane, placedThrough: 4,
      gaps: [
        SequenceGap(SequenceRange(first: 2, last: 3), isSkipped: true),
        SequenceGap(SequenceRange(first: 6, last: 7)),
      ])
    let plans = try plan([2, 6, 7, 3].map { draft(sequence: $0) }, &facts)
    let results = results(plans)
    #expect(results[0] == .sequencePassed(last: 5) && results[3] == .sequencePassed(last: 9))
    // The lane took 1, and does not keep it any more.
    #expect(try self.results(plan([draft(sequence: 1)], &facts)) == [.forgotten])
  }

  @Test("posts of one name take each other's place within a batch, unless an attempt is under way")
  func coalescing() throws {
    var free = facts()
    let plans = try plan(["a", "b", "c"].map { draft(key: $0, coalesce: "n") }, &free)
    #expect(
      results(plans).dropFirst() == [
        .coalesced(id: id(1), state: .queued, position: nil),
        .coalesced(id: id(1), state: .queued, position: nil),
      ])
    guard case .replace(let last) = plans[2] else { throw Unplanned() }
    #expect(last.revision == 2 && last.former.key == "b" && last.forgottenKeys == nil)
    #expect(free.post(ofKey: "a", of: ClientNumber(rawValue: 1))?.id == id(1))

    var busy = facts(isFree: false)
    let waiting = LineEntry(
      serial: 1, client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
      upstream: UpstreamNumber(rawValue: 1), acceptedAt: Self.now, expiresAt: Self.now)
    let lane = KnownLane(client: waiting.client, number: waiting.lane, lastSequence: nil)
    busy.fill(client: "c", lane.client, laneCount: 1)
    busy.fill(lane: LaneName(client: "c", lane: "l"), lane, placedThrough: nil, gaps: [])
    busy.fill(
      name: "n", in: lane.number,
      WaitingPost(
        id: id(1), key: nil, fingerprint: [], notBefore: nil, revision: 0, entry: waiting))
    guard case .insert = try plan([draft(coalesce: "n")], &busy)[0] else { throw Unplanned() }
  }

  @Test("names become known as far as they may, and a strict batch takes all or none")
  func names() throws {
    var limits = NameLimits()
    limits.clientLanesMax = 1
    var facts = facts(limits)
    let drafts = [draft(), draft(lane: "other"), draft()]
    let refusal = QuotaRefusal(limit: .lanes, isOfClient: true, max: 1, used: 1)
    #expect(
      try AppendRules.refusal(ofAtomic: drafts, facts: facts)
        == [.leftOut, .overQuota(refusal), .leftOut])
    #expect(try AppendRules.refusal(ofAtomic: [draft(), draft()], facts: facts) == nil)
    let results = results(try plan(drafts, &facts))
    #expect(results[1] == .overQuota(refusal) && facts.given.lastSerial == 2)
  }

  @Test("a strict batch refuses the posts that one without it would, for the same reasons")
  func strict() throws {
    var random = SplitMix64(seed: 15)
    var refusedCount = 0
    for _ in 0..<2000 {
      var facts = facts()
      let before = (0..<Int.random(in: 0...2, using: &random)).map { _ in
        numbered(&random)
      }
      _ = try plan(before, &facts)
      let drafts = (0..<Int.random(in: 1...5, using: &random)).map { _ in numbered(&random) }
      let refusal = try AppendRules.refusal(ofAtomic: drafts, facts: facts)
      let expected = results(try plan(drafts, &facts)).map(refusedAs(_:))
      let kinds = refusal?.map(refusedAs(_:)) ?? drafts.map { _ in nil }
      #expect(kinds == expected, "\(before.map(words(_:))); \(drafts.map(words(_:)))")
      if refusal != nil { refusedCount += 1 }
    }
    #expect(refusedCount > 100)
  }

  /// A post under a number from 1 to 4, which may be void, or come in order.
  private func numbered(_ random: inout SplitMix64) -> EnvelopeDraft {
    let isVoid = Int.random(in: 0..<4, using: &random) == 0
    var draft = draft(
      fingerprint: isVoid ? 0 : UInt8.random(in: 1...2, using: &random),
      sequence: Int64.random(in: 1...4, using: &random))
    draft.isVoid = isVoid
    draft.isInOrder = !isVoid && Int.random(in: 0..<4, using: &random) == 0
    return draft
  }

  private func words(_ draft: EnvelopeDraft) -> String {
    "\(draft.sequence ?? 0)\(draft.isVoid ? " void" : "")\(draft.isInOrder ? " in order" : "")"
      + " \(draft.fingerprint)"
  }

  /// The kind of a refusal; nil if it is none.
  private func refusedAs(_ result: AppendResult) -> String? {
    switch result {
    case .sequenceConflict: "conflict"
    case .sequencePassed: "passed"
    default: nil
    }
  }

  @Test("a strict batch says up to which number nothing would be waited for")
  func strictlyPassed() throws {
    let facts = facts()
    var void = draft(fingerprint: 0, sequence: 1)
    void.isVoid = true
    let drafts = [void, draft(sequence: 1), draft(sequence: 2)]
    #expect(
      try AppendRules.refusal(ofAtomic: drafts, facts: facts)
        == [.leftOut, .sequencePassed(last: 1), .leftOut])
  }

  @Test("a batch asks for each thing once, and by name")
  func questions() {
    let questions = AppendQuestions(of: [
      draft(key: "k", sequence: 3), draft(key: "k", sequence: 4), draft(lane: "m", coalesce: "n"),
    ])
    let lane = LaneName(client: "c", lane: "l")
    let other = LaneName(client: "c", lane: "m")
    #expect(questions.lanes == [lane, other] && questions.upstreams == ["u"])
    #expect(questions.keys == [AppendQuestions.Key(client: "c", key: "k")])
    #expect(questions.numbers == [lane: [3, 4]])
    #expect(questions.openGapCount(in: lane) == 3 && questions.openGapCount(in: other) == 0)
    #expect(questions.names == [AppendQuestions.Name(lane: other, name: "n")])
  }
}

/// A post was planned in another way than the test goes on from.
private struct Unplanned: Error {}
