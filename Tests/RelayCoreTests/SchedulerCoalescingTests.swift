import Testing

@testable import RelayCore

@Suite("A post that takes the place of what waits")
struct SchedulerCoalescingTests {
  /// One slot, taken by the first envelope of another lane.
  private func busyRelay() -> ManualRelay {
    var relay = ManualRelay(policy: UpstreamPolicy.manual.concurrency(1))
    relay.accept(lane: 9)
    return relay
  }

  @Test("what is under way, on its way to the disk or gone is not replaced")
  func refused() {
    var relay = ManualRelay()
    let head = relay.accept(lane: 1)
    let behind = relay.accept(lane: 1)
    let answer1 = relay.reserve(head)
    #expect(!answer1)
    relay.answer(head)
    let answer2 = relay.reserve(head)
    #expect(!answer2)
    let entry = relay.line.first { $0.serial == behind }
    if let entry {
      let verdict = relay.scheduler.obey(.cancel(reason: "so"), of: entry, now: relay.clock)
      #expect(verdict == .recording)
    }
    relay.take()
    let answer3 = relay.reserve(behind)
    #expect(!answer3)
    relay.commit()
    for serial in [head, behind] {
      let isReserved = relay.scheduler.reserve(serial, in: LaneNumber(rawValue: 1))
      #expect(!isReserved)
    }
  }

  @Test("what may have arrived is not replaced until the upstream has said that it has not")
  func inDoubt() {
    var policy = UpstreamPolicy.manual
    policy.ambiguity = .verify
    var relay = ManualRelay(policy: policy)
    let head = relay.accept(lane: 1)
    relay.commit()
    relay.fail(head, .timeout, isWritten: true)
    relay.commit()
    let whileInDoubt = relay.reserve(head)
    #expect(relay.line[0].isInDoubt && !whileInDoubt)
    // What is posted follows as a new envelope.
    let follower = relay.accept(lane: 1)
    let mayReplaceFollower = relay.reserve(follower)
    #expect(mayReplaceFollower)
    relay.release(follower)
    relay.pass(ms: 8000)
    relay.answer(head, status: 200)
    relay.commit()
    relay.deliverAll()
    #expect(relay.verified == [head] && relay.attempted == [head, follower])
  }

  @Test(
    "no attempt of what is reserved begins, and its lane loses no turn", arguments: [true, false])
  func turn(isReplaced: Bool) {
    var relay = busyRelay()
    let first = relay.accept(lane: 1)
    let second = relay.accept(lane: 2)
    let answer4 = relay.reserve(first)
    #expect(answer4)
    relay.answer(1)
    relay.commit()
    // Its turn came, and went to the next; it is the first again now.
    #expect(relay.attempted == [1, second])
    relay.accept(lane: 3)
    if isReplaced {
      let place11 = relay.coalesce(first, by: relay.draft())
      #expect(place11 == 1)
    } else {
      relay.release(first)
    }
    relay.answer(second)
    relay.commit()
    #expect(relay.attempted == [1, second, first])
  }

  @Test("one that waits for its turn keeps it, however often it is replaced")
  func fair() {
    var relay = busyRelay()
    let first = relay.accept(lane: 1)
    relay.accept(lane: 2)
    for _ in 0..<3 {
      let answer5 = relay.reserve(first)
      #expect(answer5)
      relay.coalesce(first, by: relay.draft())
    }
    relay.answer(1)
    relay.commit()
    #expect(relay.attempted == [1, first])
  }

  @Test("commands and deadlines leave it alone meanwhile")
  func others() {
    var relay = busyRelay()
    let serial = relay.accept(lane: 1)
    let answer6 = relay.reserve(serial)
    #expect(answer6)
    let entry = relay.line[1]
    let verdict = relay.scheduler.obey(.cancel(reason: "so"), of: entry, now: relay.clock)
    #expect(verdict == .busy)
    relay.pass(ms: 700_000_000)
    relay.expire(serial)
    #expect(relay.uncommitted.isEmpty)
    relay.release(serial)
    relay.expire(serial)
    #expect(relay.uncommitted.count == 1)
  }

  @Test("the wait after a failed attempt stays, unless the upstream came back meanwhile")
  func backoff() {
    var relay = ManualRelay()
    let serial = relay.accept(lane: 1)
    relay.answer(serial, status: 503, retryAfter: "30")
    relay.commit()
    let answer7 = relay.reserve(serial)
    #expect(answer7)
    relay.coalesce(serial, by: relay.draft())
    relay.pass(ms: 29_000)
    #expect(relay.attempted == [serial])
    // The wait is lengthened by up to a second, at random.
    relay.pass(ms: 2500)
    #expect(relay.attempted == [serial, serial])
  }

  @Test("a time that the later post asks for counts also during the wait after a failed attempt")
  func notBeforeDuringBackoff() {
    var relay = ManualRelay()
    let serial = relay.accept(lane: 1)
    relay.answer(serial, status: 503, retryAfter: "10")
    relay.commit()
    let isReserved = relay.reserve(serial)
    #expect(isReserved)
    relay.coalesce(serial, by: relay.draft(dueInMs: 40_000))
    relay.pass(ms: 39_999)
    #expect(relay.attempted == [serial])
    relay.pass(ms: 1)
    #expect(relay.attempted == [serial, serial])
  }

  @Test("a wait that the upstream's return has cut short stays cut short")
  func backoffCutShort() throws {
    var policy = UpstreamPolicy.manual.concurrency(1)
    policy.retry = RetryPolicy(
      firstDelayMs: 600_000, maxDelayMs: 600_000, factor: 2, retryAfterMaxMs: 0)
    var relay = ManualRelay(policy: policy)
    let serial = relay.accept(lane: 1)
    for number in 2...6 { relay.accept(lane: Int64(number)) }
    for failed in [serial, 2, 3] {
      relay.fail(failed)
      relay.commit()
    }
    relay.pass(ms: 1000)
    // The upstream is given up, and has been sent a probe; the first lane waits for minutes yet.
    guard case .waiting(let until) = relay.phase(of: 1) else {
      Issue.record("the first lane does not wait: \(String(describing: relay.phase(of: 1)))")
      return
    }
    #expect(until.milliseconds(since: relay.clock.monotonic) > 10_000)
    let probe = try #require(relay.inFlight.first)
    relay.answer(probe.serial)
    relay.commit()
    // It is let go, and waits for the one slot, though the store knows of its wait still.
    #expect(relay.phase(of: 1) == .ready && relay.attempted.count { $0 == serial } == 1)
    #expect(relay.line.first { $0.serial == serial }?.dueAt ?? relay.clock.wall > relay.clock.wall)
    let isReserved = relay.reserve(serial)
    #expect(isReserved)
    relay.coalesce(serial, by: relay.draft())
    #expect(relay.phase(of: 1) == .ready)
    relay.deliverAll()
    #expect(relay.attempted.count { $0 == serial } == 2 && relay.line.isEmpty)
  }

  @Test("new terms count: it is held, let go, postponed")
  func terms() {
    var relay = busyRelay()
    let serial = relay.accept(lane: 1)
    let answer8 = relay.reserve(serial)
    #expect(answer8)
    relay.coalesce(serial, by: relay.draft(hold: true))
    #expect(relay.phase(of: 1) == .held)
    let answer9 = relay.reserve(serial)
    #expect(answer9)
    relay.coalesce(serial, by: relay.draft(dueInMs: 5000))
    relay.answer(1)
    relay.commit()
    #expect(relay.attempted == [1])
    relay.pass(ms: 5000)
    #expect(relay.attempted == [1, serial])
  }

  @Test("it may go to another upstream, and the counts follow")
  func upstream() {
    let other = UpstreamNumber(rawValue: 2)
    var relay = ManualRelay(
      policy: UpstreamPolicy.manual.concurrency(1), others: [other: .manual])
    relay.accept(lane: 9)
    let serial = relay.accept(lane: 1)
    let answer10 = relay.reserve(serial)
    #expect(answer10)
    relay.coalesce(serial, by: relay.draft(), to: other)
    #expect(relay.attempted == [1, serial])
    #expect(relay.waiting == 1)
    #expect(relay.scheduler.upstreamViews()[other]?.waiting == 1)
  }

  @Test("one behind the head, and one behind the window, are replaced where they stand")
  func behind() {
    var relay = ManualRelay(limits: .init(windowEntriesMax: 2, laneWindowMin: 2))
    let first = relay.accept(lane: 1)
    relay.accept(count: 4, lane: 1)
    for serial: Serial in [2, 4] {
      let isReserved = relay.reserve(serial)
      #expect(isReserved)
    }
    let place12 = relay.coalesce(2, by: relay.draft())
    #expect(place12 == 2)
    let place13 = relay.coalesce(4, by: relay.draft(hold: true))
    #expect(place13 == nil)
    relay.answer(first)
    relay.commit()
    relay.deliverAll()
    #expect(relay.attempted == [1, 2, 3] && relay.phase(of: 1) == .held)
  }
}
