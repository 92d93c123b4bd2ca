import RelayCore
import Testing

/// What is to be written of changes, by facts that stand in the test.
@Suite("What is to be written of changes")
struct ChangeRulesTests {
  private static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
  private static let later = now.adding(milliseconds: 5000)

  /// One envelope, number 1, as it waits or as it ended.
  private struct Facts: ChangeFacts {
    var place: WaitingPlace?
    var end: StoredEnd?
    var isAhead = false

    func waiting(_ serial: Serial) -> WaitingPlace? { serial == 1 ? place : nil }
    func end(of serial: Serial) -> StoredEnd? { serial == 1 ? end : nil }
    func isAheadOfGap(_ serial: Serial) -> Bool { serial == 1 && isAhead }
  }

  private func waiting(
    _ standing: Standing = .queued, attempts: Int64 = 0, isInDoubt: Bool = false
  ) -> Facts {
    Facts(
      place: WaitingPlace(
        client: ClientNumber(rawValue: 1), standing: standing, attempts: attempts,
        isInDoubt: isInDoubt, bytes: 70))
  }

  private func ended(
    _ state: EnvelopeState, isInDoubt: Bool = false, isAhead: Bool = false
  ) -> Facts {
    Facts(
      end: StoredEnd(
        state: state, attempts: 3, isInDoubt: isInDoubt, ending: nil,
        at: WallTime(millisecondsSinceEpoch: 5), isTried: true),
      isAhead: isAhead)
  }

  private func entry(_ standing: Standing = .queued) -> LineEntry {
    LineEntry(
      serial: 1, client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
      upstream: UpstreamNumber(rawValue: 1), acceptedAt: Self.now, expiresAt: Self.later,
      standing: standing)
  }

  private func edit(_ standing: Standing) -> EnvelopeEdit {
    EnvelopeEdit(
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([])),
      tag: nil, entry: entry(standing), notBefore: nil)
  }

  private func attempt(_ number: Int32) -> AttemptRecord {
    AttemptRecord(
      number: number, startedAt: Self.now, durationMs: 3, outcome: .unreachable, status: nil,
      error: nil)
  }

  private func plan(
    _ change: Transition.Change, attempt: AttemptRecord? = nil, doubt: String? = nil, _ facts: Facts
  ) throws -> ChangePlan? {
    try ChangeRules.plan(
      Transition(
        serial: 1, lane: LaneNumber(rawValue: 1), upstream: UpstreamNumber(rawValue: 1),
        change: change, at: Self.now, attempt: attempt, doubt: doubt, epoch: 1),
      facts: facts)
  }

  // MARK: - What waits

  @Test(
    "a change of what does not wait any more changes nothing",
    arguments: [
      Transition.Change.begin, .retry(at: later), .block(reason: "r"), .end(.failed, reason: "r"),
      .release,
    ])
  func tooLate(change: Transition.Change) throws {
    #expect(try plan(change, Facts()) == nil)
    #expect(try plan(change, ended(.failed)) == nil)
    #expect(try plan(.edit(edit(.queued)), ended(.failed)) == nil)
  }

  @Test("an attempt that must not be made twice leaves standing and attempts as they are")
  func begins() throws {
    let plan = try #require(try plan(.begin, waiting(attempts: 2)))
    #expect(plan.line == .begin && plan.standing == .queued && plan.former == .queued)
    #expect(plan.attempts == 2 && !plan.keepsAttempt && plan.event == nil)
  }

  @Test("what failed waits until its time, in doubt if there is a reason", arguments: [nil, "cut"])
  func retries(doubt: String?) throws {
    let plan = try #require(
      try plan(.retry(at: Self.later), attempt: attempt(3), doubt: doubt, waiting(attempts: 2)))
    #expect(plan.line == .retry(at: Self.later, doubt: doubt) && plan.standing == .queued)
    #expect(plan.attempts == 3 && plan.keepsAttempt && plan.event?.kind == .attempted)
  }

  @Test("attempts are never counted back")
  func attemptsGrow() throws {
    let plan = try plan(.retry(at: Self.later), attempt: attempt(2), waiting(attempts: 7))
    #expect(plan?.attempts == 7)
  }

  @Test(
    "the history keeps the latest attempts",
    arguments: [(100, nil), (101, 1), (250, 150)] as [(Int32, Int64?)])
  func history(number: Int32, dropped: Int64?) throws {
    let retry = try plan(.retry(at: Self.later), attempt: attempt(number), waiting())
    let block = try plan(.block(reason: "r"), attempt: attempt(number), waiting())
    #expect(retry?.attemptsDroppedThrough == dropped && block?.attemptsDroppedThrough == dropped)
  }

  @Test("without an attempt nothing is added to the history")
  func noAttempt() throws {
    let plan = try plan(.retry(at: Self.later), waiting(attempts: 1))
    #expect(plan?.keepsAttempt == false && plan?.attempts == 1 && plan?.event == nil)
  }

  @Test("a refused envelope blocks its lane, with its reason")
  func blocks() throws {
    let plan = try plan(.block(reason: "422"), attempt: attempt(1), waiting())
    #expect(plan?.line == .block(reason: "422") && plan?.standing == .blocked)
  }

  @Test("an end frees what the envelope counted for, and keeps its attempt with itself")
  func ends() throws {
    let plan = try #require(
      try plan(.end(.failed, reason: "refused"), attempt: attempt(1), waiting()))
    #expect(plan.line == .end(.failed, reason: "refused", isInDoubt: false))
    #expect(plan.standing == nil && plan.former == .queued && plan.attempts == 1)
    #expect(plan.use == WaitingUse(count: -1, bytes: -70) && !plan.keepsAttempt)
  }

  @Test("an empty reason is none")
  func noReason() throws {
    let plan = try plan(.end(.cancelled, reason: ""), waiting())
    #expect(plan?.line == .end(.cancelled, reason: nil, isInDoubt: false))
  }

  @Test(
    "an end leaves a doubt that nothing has settled",
    arguments: [
      // The end, the attempt that led to it, what it left in doubt, and what is in doubt then.
      (.cancelled, false, nil, true), (.failed, true, nil, false), (.failed, true, "cut", true),
      (.delivered, false, nil, false),
    ] as [(EnvelopeState, Bool, String?, Bool)])
  func doubt(state: EnvelopeState, hasAttempt: Bool, doubt: String?, isInDoubt: Bool) throws {
    let plan = try plan(
      .end(state, reason: "r"), attempt: hasAttempt ? attempt(1) : nil, doubt: doubt,
      waiting(isInDoubt: true))
    #expect(plan?.line == .end(state, reason: "r", isInDoubt: isInDoubt))
  }

  @Test(
    "what is released waits for nothing; a hold is spent, and only a doubt keeps its reason",
    arguments: [
      (.held, false), (.blocked, false), (.queued, true), (.queued, false),
    ] as [(Standing, Bool)])
  func releases(standing: Standing, isInDoubt: Bool) throws {
    let plan = try plan(.release, waiting(standing, isInDoubt: isInDoubt))
    #expect(plan?.line == .release(keepsReason: isInDoubt, spendsHold: standing == .held))
    #expect(plan?.standing == .queued && plan?.former == standing)
  }

  @Test("a corrected envelope stands as the correction says", arguments: [Standing.held, .queued])
  func edits(standing: Standing) throws {
    let plan = try plan(.edit(edit(standing)), waiting(.blocked))
    #expect(plan?.line == .edit && plan?.standing == standing && plan?.former == .blocked)
  }

  // MARK: - What has ended

  @Test(
    "what was not delivered can wait again",
    arguments: [EnvelopeState.failed, .expired, .cancelled])
  func requeues(state: EnvelopeState) throws {
    let facts = ended(state, isInDoubt: true)
    let plan = try #require(try plan(.requeue(entry(.held)), facts))
    let end = try #require(facts.end)
    #expect(plan.line == .requeue(end) && plan.standing == .held && plan.former == nil)
    #expect(plan.attempts == 3 && !plan.isParkedAgain && plan.event?.standing == .held)
  }

  @Test("what was delivered, or waits, does not wait again")
  func requeuesNothingElse() throws {
    #expect(try plan(.requeue(entry()), ended(.delivered)) == nil)
    #expect(try plan(.requeue(entry()), waiting()) == nil)
  }

  @Test("what is ahead of a gap is parked again, and the event says so")
  func parksAgain() throws {
    let plan = try #require(try plan(.requeue(entry()), ended(.failed, isAhead: true)))
    #expect(plan.standing == .parked && plan.isParkedAgain && plan.event?.standing == .parked)
  }

  @Test("what did not end undelivered is neither cancelled nor corrected")
  func refuses() {
    for end in [nil, ended(.delivered).end] {
      #expect(ChangeRules.cancellation(of: end) == .refuse && !ChangeRules.mayCorrect(end))
    }
  }

  @Test("an end is replaced by a cancellation, once")
  func cancels() throws {
    for state in [EnvelopeState.failed, .expired] {
      let end = try #require(ended(state).end)
      #expect(ChangeRules.cancellation(of: end) == .replace(end) && ChangeRules.mayCorrect(end))
    }
    let cancelled = ended(.cancelled).end
    #expect(ChangeRules.cancellation(of: cancelled) == .leave)
    #expect(ChangeRules.mayCorrect(cancelled))
  }

  // MARK: - A client's backlog

  @Test("a backlog is cleared in the order of its numbers, but for what is being changed or sent")
  func clears() {
    let items = ([5, 2, 9, 4] as [Serial]).map {
      ClearedBacklog.Item(
        serial: $0, lane: LaneNumber(rawValue: 1), upstream: UpstreamNumber(rawValue: 1))
    }
    let (backlog, changingCount) = ChangeRules.clearing(
      of: ClientNumber(rawValue: 1), items,
      besides: SparedEnvelopes(inFlight: [5], changing: [4, 77]))
    #expect(backlog.items.map(\.serial) == [2, 9])
    #expect(backlog.client == ClientNumber(rawValue: 1) && changingCount == 1)
  }
}
