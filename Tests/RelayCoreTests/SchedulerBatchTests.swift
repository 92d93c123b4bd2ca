import Testing

@testable import RelayCore

@Suite("Scheduler: envelopes that go together")
struct SchedulerBatchTests {
  private static func relay(
    itemsMax: Int = 8, lingerMs: Int64 = 0, concurrency: Int = 4
  ) -> ManualRelay {
    var policy = UpstreamPolicy.manual.concurrency(concurrency)
    policy.batch = BatchPolicy(itemsMax: itemsMax, lingerMs: lingerMs)
    return ManualRelay(policy: policy)
  }

  /// Has envelopes accepted in one commit.
  private static func accept(_ lanes: [Int64], _ relay: inout ManualRelay) -> [Serial] {
    relay.scheduler.setPaused(true, .upstream(ManualRelay.upstream), now: relay.clock)
    let serials = lanes.map { relay.accept(lane: $0) }
    relay.scheduler.setPaused(false, .upstream(ManualRelay.upstream), now: relay.clock)
    relay.take()
    return serials
  }

  @Test("several of one lane and of several lanes go in one request, each lane in its order")
  func together() {
    var relay = Self.relay()
    let serials = Self.accept([1, 2, 1, 2, 3], &relay)
    #expect(relay.together == [[serials[0], serials[2], serials[1], serials[3], serials[4]]])
    relay.answer(relay.together[0], statuses: [200])
    relay.commit()
    #expect(relay.line.isEmpty && relay.scheduler.waitingCount == 0)
    #expect(!relay.scheduler.batches.isInUse)
  }

  @Test("a lane is in one request at a time, and a request takes one slot")
  func oneAtATime() {
    var relay = Self.relay(itemsMax: 2, concurrency: 4)
    let serials = Self.accept([1, 1, 1, 1], &relay)
    #expect(relay.together == [Array(serials[..<2])])
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.inFlight == 1)
    relay.answer(relay.together[0], statuses: [200])
    #expect(relay.together.count == 1, "its outcome is not on disk yet")
    relay.commit()
    #expect(relay.together.last == Array(serials[2...]))
  }

  @Test("one deep lane leaves room for others")
  func shares() {
    var relay = Self.relay(itemsMax: 8, concurrency: 1)
    let serials = Self.accept([1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4], &relay)
    #expect(relay.together == [[serials[0], serials[1]] + serials[8...]])
  }

  @Test("each settles by its own status, and nothing goes along behind one that may block its lane")
  func each() throws {
    var relay = Self.relay()
    let entries = [
      relay.makeEntry(lane: 1, onFailure: .block), relay.makeEntry(lane: 1),
      relay.makeEntry(lane: 2),
    ]
    relay.scheduler.setPaused(true, .upstream(ManualRelay.upstream), now: relay.clock)
    for entry in entries { relay.accept(entry) }
    relay.scheduler.setPaused(false, .upstream(ManualRelay.upstream), now: relay.clock)
    relay.take()
    let batch = try #require(relay.together.first)
    #expect(batch == [entries[0].serial, entries[2].serial])
    relay.answer(batch, statuses: [422, 503])
    relay.commit()
    #expect(relay.phase(of: 1) == .blocked)
    #expect(relay.line.map(\.serial) == entries.map(\.serial))
    #expect(relay.line.map(\.attempts) == [1, 0, 1])
  }

  @Test("a result of 429 holds the upstream only if it took none")
  func paceOfSome() {
    for (statuses, isHeld) in [([429, 200, 200], false), ([429, 429, 429], true)] {
      var relay = Self.relay()
      _ = Self.accept([1, 2, 3], &relay)
      relay.answer(relay.together[0], statuses: statuses)
      relay.commit()
      let held = relay.scheduler.upstreamViews()[ManualRelay.upstream]?.heldUntil
      #expect((held != nil) == isHeld, "\(statuses)")
    }
  }

  @Test("results of 429 for one client alone hold nobody else up")
  func paceOfOne() {
    var relay = Self.relay()
    relay.scheduler.setPaused(true, .upstream(ManualRelay.upstream), now: relay.clock)
    for lane in [1, 2, 2] { relay.accept(lane: Int64(lane), client: 7) }
    relay.scheduler.setPaused(false, .upstream(ManualRelay.upstream), now: relay.clock)
    relay.take()
    relay.answer(relay.together[0], statuses: [429, 429, 429])
    relay.commit()
    // And one by itself, again.
    relay.pass(ms: 60_000)
    relay.answer(relay.together[1], statuses: [429], subject: .each)
    relay.commit()
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.heldUntil == nil)
    let other = relay.accept(lane: 8)
    #expect(relay.together.last == [other] || relay.attempted.last == other)
  }

  @Test("what may have arrived is told of each in the request")
  func inDoubt() {
    var relay = Self.relay()
    let serials = Self.accept([1, 1, 2, 2], &relay)
    for serial in serials { relay.fail(serial, .cut, isWritten: true) }
    let outcomes = relay.uncommitted.compactMap(\.attempt?.outcome)
    #expect(outcomes == Array(repeating: .ambiguous, count: 4))
  }

  @Test("one that is to be tried again behind its lane's head has its attempt counted")
  func retriedBehind() throws {
    var relay = Self.relay()
    let serials = Self.accept([1, 1, 1], &relay)
    relay.answer(relay.together[0], statuses: [503, 503, 200])
    relay.commit()
    #expect(relay.line.map(\.serial) == Array(serials[..<2]))
    relay.pass(ms: 2000)
    #expect(relay.together.last == Array(serials[..<2]))
    #expect(relay.inFlight.map(\.attempts) == [1, 1])
  }

  @Test("a refusal for the content halves the request until what spoils it is the only one in it")
  func halves() {
    var relay = Self.relay()
    let serials = Self.accept([1, 2, 3, 4, 5, 6, 7, 8], &relay)
    let poison = serials[5]
    var requests = 0
    while let batch = relay.together.dropFirst(requests).first {
      requests += 1
      let isSpoilt = batch.contains(poison)
      relay.answer(batch, statuses: [isSpoilt ? 400 : 200])
      relay.commit()
    }
    #expect(relay.together.last?.count ?? 0 < 8 && relay.together.contains([poison]))
    #expect(relay.line.isEmpty && requests <= 7, "\(requests)")
    #expect(!relay.scheduler.batches.isInUse)
  }

  @Test(
    "a refusal of the request as such is one of each envelope in it, and nothing is sent twice",
    arguments: [405, 411, 415, 421, 431, 302])
  func refusedAsSuch(status: Int) {
    var relay = Self.relay()
    let serials = Self.accept([1, 2, 2, 3], &relay)
    relay.answer(relay.together[0], statuses: [status])
    relay.commit()
    #expect(relay.together.count == 1)
    #expect(relay.line.map(\.serial).allSatisfy { !serials.contains($0) })
    #expect(!relay.scheduler.batches.isInUse)
  }

  @Test(
    "a refusal that what is in the request may be to blame for halves it",
    arguments: [400, 401, 403, 404, 409, 410, 413, 422, 451])
  func refusedForContent(status: Int) {
    var relay = Self.relay()
    let serials = Self.accept([1, 2, 3, 4], &relay)
    relay.answer(relay.together[0], statuses: [status])
    #expect(relay.together.dropFirst() == [Array(serials[..<2]), Array(serials[2...])])
    #expect(relay.uncommitted.isEmpty, "it is no attempt of theirs")
  }

  @Test("a status that means to try again is no refusal, and halves nothing")
  func retriedForContent() {
    var policy = UpstreamPolicy.manual
    policy.batch = BatchPolicy(itemsMax: 4)
    policy.outcomes.retry = StatusSet(codes: [409])
    var relay = ManualRelay(policy: policy)
    _ = Self.accept([1, 2], &relay)
    relay.answer(relay.together[0], statuses: [409])
    relay.commit()
    #expect(relay.together.count == 1 && relay.line.map(\.attempts) == [1, 1])
  }

  @Test("a refusal of the coding sends the same again, and is no attempt")
  func coding() {
    for lanes: [Int64] in [[1, 1, 2], [1]] {
      var relay = Self.relay()
      let serials = Self.accept(lanes, &relay)
      relay.answer(relay.together[0], statuses: [415], subject: .coding)
      #expect(relay.together == [serials, serials] && relay.uncommitted.isEmpty)
      relay.answer(serials, statuses: [415])
      relay.commit()
      #expect(relay.together.count == 2 && relay.line.isEmpty, "now it is for the type")
    }
  }

  @Test("what follows 413 has the bytes that an upstream takes, until it is configured anew")
  func ceiling() {
    var relay = Self.relay(itemsMax: 8, concurrency: 1)
    _ = Self.accept(Array(1...32), &relay)
    relay.answer(relay.together[0], statuses: [413])
    #expect(relay.batchSizes.lowered == [400])
    for _ in 0..<2 { relay.answer(relay.together[relay.together.count - 1], statuses: [200]) }
    #expect(relay.batchSizes.bytesMax == [nil, 400, 400, 400], "two halves, and the next one")
    relay.scheduler.seekAnew(ManualRelay.upstream, now: relay.clock)
    relay.answer(relay.together[relay.together.count - 1], statuses: [200])
    #expect(relay.batchSizes.bytesMax.last == .some(nil))
  }

  @Test("413 for one that is too large by itself makes the requests of others no smaller")
  func tooLargeByItself() {
    var relay = Self.relay(itemsMax: 8, concurrency: 1)
    let serials = Self.accept(Array(1...40), &relay)
    let isBad = { (serial: Serial) in serial == serials[2] || serial == serials[12] }
    var answered = 0
    while answered < relay.together.count, answered < 100 {
      let batch = relay.together[answered]
      answered += 1
      relay.answer(batch, statuses: [batch.contains(where: isBad) ? 413 : 200])
      relay.commit()
    }
    #expect(relay.batchSizes.lowered == [400, 200, 100, 400, 200, 100], "each search is one")
    #expect(relay.batchSizes.bytesMax.last == .some(nil) && relay.together.last?.count == 8)
    #expect(relay.line.isEmpty && !relay.scheduler.batches.isInUse)
  }

  @Test("a late 413 of an upstream that was configured anew teaches the new one nothing")
  func lateCeiling() {
    var relay = Self.relay(itemsMax: 8, concurrency: 1)
    _ = Self.accept(Array(1...16), &relay)
    relay.answer(relay.together[0], statuses: [413], ofReplaced: true)
    #expect(relay.batchSizes.lowered.isEmpty && relay.batchSizes.bytesMax == [nil, nil])
  }

  @Test("after results that do not fit each is the only one in its request, in order")
  func unreadable() {
    var relay = Self.relay()
    let serials = Self.accept([1, 1, 2], &relay)
    relay.answerUnreadably(relay.together[0])
    relay.commit()
    #expect(relay.line.map(\.attempts) == [1, 1, 1])
    relay.pass(ms: 2000)
    var answered = 1
    while let batch = relay.together.dropFirst(answered).first {
      answered += 1
      relay.answer(batch, statuses: [200])
      relay.commit()
    }
    #expect(Set(relay.together.dropFirst()) == Set(serials.map { [$0] }))
    let ordered = relay.together.dropFirst().compactMap(\.first).filter { $0 != serials[2] }
    #expect(ordered == Array(serials[..<2]))
    #expect(relay.line.isEmpty && !relay.scheduler.batches.isInUse)
  }

  @Test("413 halves the request even where it says to try again")
  func tooLarge() {
    var policy = UpstreamPolicy.manual
    policy.batch = BatchPolicy(itemsMax: 4)
    policy.outcomes.retry = StatusSet(codes: [413])
    var relay = ManualRelay(policy: policy)
    let serials = Self.accept([1, 2, 3, 4], &relay)
    relay.answer(relay.together[0], statuses: [413])
    #expect(relay.together.dropFirst() == [Array(serials[..<2]), Array(serials[2...])])
  }

  @Test("what needs a request of its own goes next, and nothing of its lane overtakes it")
  func alone() {
    var relay = Self.relay(concurrency: 1)
    let serials = Self.accept([1, 1, 1, 2], &relay)
    relay.leaveOut(alone: [serials[1]], left: [serials[2]])
    relay.answer([serials[0], serials[3]], statuses: [200])
    relay.commit()
    #expect(relay.inFlight.map(\.serial) == [serials[1]] && relay.together.count == 1)
    relay.answer(serials[1])
    relay.commit()
    #expect(relay.together.last == [serials[2]])
  }

  @Test("a lane whose head had its own request is looked at one by one until one goes along again")
  func short() {
    var relay = Self.relay(itemsMax: 4, concurrency: 1)
    let serials = Self.accept([1, 1, 1, 1], &relay)
    relay.scheduler.leftOut(
      alone: [], left: Array(serials[1...]), sent: serials[0], now: relay.clock)
    relay.answer(serials[0])
    relay.commit()
    #expect(relay.together.dropFirst() == [[serials[1]]])
    relay.answer([serials[1]], statuses: [200])
    relay.commit()
    #expect(relay.together.last == Array(serials[2...]))
  }

  @Test("a failure of the request is one failure of the upstream, and one attempt of each")
  func failure() {
    var relay = Self.relay()
    let serials = Self.accept([1, 2, 3, 4], &relay)
    for serial in serials { relay.fail(serial) }
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == true)
    relay.commit()
    #expect(relay.line.allSatisfy { $0.attempts == 1 })
  }

  @Test(
    "while one is under way a request that is not full waits for more, and no longer than asked")
  func lingers() {
    var relay = Self.relay(itemsMax: 3, lingerMs: 100)
    relay.accept(lane: 1)
    #expect(relay.together.count == 1, "an idle upstream gets it at once")
    relay.accept(lane: 2)
    #expect(relay.together.count == 1)
    relay.pass(ms: 99)
    #expect(relay.together.count == 1)
    relay.pass(ms: 1)
    #expect(relay.together.count == 2)
    relay.accept(lane: 3)
    relay.accept(lane: 4)
    relay.accept(lane: 5)
    #expect(relay.together.last?.count == 3, "a full one does not wait")
  }

  @Test("requests of other upstreams do not make a full one wait")
  func neighbours() {
    let other = UpstreamNumber(rawValue: 2)
    var policy = UpstreamPolicy.manual
    policy.batch = BatchPolicy(itemsMax: 3, lingerMs: 100)
    var relay = ManualRelay(policy: policy, others: [other: .manual])
    for lane in 11...15 { relay.accept(relay.makeEntry(lane: Int64(lane), upstream: other)) }
    relay.accept(lane: 1)
    #expect(relay.together.count == 1)
    for lane in 2...4 { relay.accept(lane: Int64(lane)) }
    #expect(relay.together.last?.count == 3)
  }

  @Test("a probe of an unreachable upstream is one envelope")
  func probe() throws {
    var relay = Self.relay()
    let serials = Self.accept([1, 2, 3, 4], &relay)
    relay.answer(serials, statuses: [503])
    relay.commit()
    // Each fails by itself to connect, until the upstream is given up.
    for _ in 0..<3 {
      relay.pass(ms: 10_000)
      for entry in relay.inFlight { relay.fail(entry.serial) }
      relay.commit()
    }
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == false)
    let before = relay.together.count
    relay.pass(ms: 10_000)
    #expect(relay.together.dropFirst(before).map(\.count) == [1])
  }

  @Test("what goes along cannot be changed, replaced or cancelled with the rest meanwhile")
  func protected() {
    var relay = Self.relay()
    let serials = Self.accept([1, 1], &relay)
    let verdict = relay.obey(.cancel(reason: ""), of: relay.line[1])
    #expect(verdict == .busy)
    let isReserved = relay.reserve(serials[1])
    #expect(!isReserved)
    let spared = relay.scheduler.reserveAll(of: ClientNumber(rawValue: 1))
    #expect(spared.inFlight == Set(serials))
  }

  @Test("results that do not fit hold their own envelopes, and show that the upstream is there")
  func unfitting() {
    for isUnsettled in [true, false] {
      var relay = Self.relay(concurrency: 1)
      for round in 0..<4 {
        relay.accept(lane: Int64(round + 1))
        guard let last = relay.together.last else { continue }
        if !relay.inFlight.isEmpty { relay.answerUnreadably(last, isUnsettled: isUnsettled) }
        relay.commit()
      }
      let view = relay.scheduler.upstreamViews()[ManualRelay.upstream]
      #expect(view?.isReachable == isUnsettled)
      #expect(relay.scheduler.waitingCount == 4)
    }
  }
}
