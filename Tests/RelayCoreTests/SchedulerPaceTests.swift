import Testing

@testable import RelayCore

@Suite("Upstreams that say that requests come too fast")
struct SchedulerPaceTests {
  /// Eight lanes with an envelope each, of which three are under way.
  private static func relay(_ change: (inout UpstreamPolicy) -> Void = { _ in }) -> ManualRelay {
    var policy = UpstreamPolicy.manual.concurrency(3)
    change(&policy)
    var relay = ManualRelay(policy: policy)
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    return relay
  }

  private static func heldUntil(_ relay: ManualRelay) -> MonotonicTime? {
    relay.scheduler.upstreamViews(at: relay.clock.monotonic)[ManualRelay.upstream]?.heldUntil
  }

  @Test("a wait that an upstream asks one lane for holds all of them, and then they ramp up")
  func held() {
    var relay = Self.relay()
    relay.answer(1, status: 429, retryAfter: "10")
    relay.commit()
    for serial in [2, 3] { relay.answer(Serial(serial)) }
    relay.commit()
    #expect(relay.inFlight.isEmpty && Self.heldUntil(relay) == relay.scheduler.nextWake)
    relay.pass(ms: 9999)
    #expect(relay.inFlight.isEmpty)
    relay.pass(ms: 1)
    #expect(relay.inFlight.map(\.serial) == [4] && Self.heldUntil(relay) == nil)
    relay.answer(4)
    relay.commit()
    #expect(relay.inFlight.count == 2)
  }

  @Test("503 holds an upstream only with a Retry-After; 429 holds it for a first wait without one")
  func statuses() {
    for (status, retryAfter, isHeld) in [
      (503, nil, false), (503, "5", true), (503, "0", false), (429, "0", true), (429, nil, true),
      (429, "Thu, 01 Jan 1970 00:00:00 GMT", true), (503, "Thu, 01 Jan 1970 00:00:00 GMT", false),
      (500, "5", false), (200, "5", false),
    ] {
      var relay = Self.relay()
      relay.answer(1, status: status, retryAfter: retryAfter)
      #expect((Self.heldUntil(relay) != nil) == isHeld, "\(status), \(retryAfter ?? "-")")
    }
  }

  @Test("what is answered 429, or 503 with any wait, was not taken, also if no wait is left")
  func notTaken() {
    for (status, retryAfter, taken) in [
      (429, "0", 0), (429, nil, 0), (503, "0", 0), (503, nil, 1), (500, nil, 1), (200, nil, 1),
    ] {
      var relay = Self.relay()
      relay.answer(1, status: status, retryAfter: retryAfter)
      let pace = relay.scheduler.upstreams[ManualRelay.upstream]?.pace
      #expect(pace?.takenSinceRefusal == taken, "\(status), \(retryAfter ?? "-")")
    }
  }

  @Test("a rate is learned also from refusals that ask for no wait")
  func learnsWithoutWait() {
    var relay = Self.relay()
    for serial in 1...7 {
      relay.answer(Serial(serial))
      relay.commit()
    }
    for lane in 9...40 { relay.accept(lane: Int64(lane)) }
    for serial in 8...39 where relay.inFlight.contains(where: { $0.serial == serial }) {
      relay.answer(Serial(serial))
      relay.commit()
    }
    guard let last = relay.inFlight.first?.serial else {
      Issue.record("nothing is under way")
      return
    }
    relay.pass(ms: 10)
    relay.answer(last, status: 429, retryAfter: "0")
    let pace = relay.scheduler.upstreams[ManualRelay.upstream]?.pace
    #expect(pace?.perSecond(at: relay.clock.monotonic) != nil)
  }

  @Test("a status that means something else by the configuration holds nothing")
  func otherMeaning() {
    var relay = Self.relay {
      $0.outcomes = OutcomeRules(deliver: .init(codes: [429]), retry: .init(codes: []))
    }
    relay.answer(1, status: 429, retryAfter: "10")
    #expect(Self.heldUntil(relay) == nil)
  }

  @Test("the longest wait that is honoured for a lane is the longest for all of them")
  func longest() {
    var relay = Self.relay { $0.retry.retryAfterMaxMs = 2000 }
    relay.answer(1, status: 429, retryAfter: "99999999999999999999")
    #expect(Self.heldUntil(relay) == relay.clock.monotonic.adding(milliseconds: 2000))
  }

  @Test("a lane that alone is refused again and again holds only itself")
  func ownLane() {
    var relay = Self.relay()
    relay.answer(1, status: 429, retryAfter: "1")
    relay.commit()
    while relay.inFlight.first?.serial != 1 {
      for entry in relay.inFlight { relay.answer(entry.serial) }
      relay.commit()
      relay.pass(ms: 100)
    }
    relay.answer(1, status: 429, retryAfter: "1")
    #expect(Self.heldUntil(relay) == nil)
  }

  @Test("a slow disk does not let more announced attempts come together than the rate allows")
  func paced() {
    var policy = UpstreamPolicy.manual.concurrency(8)
    policy.ambiguity = .verify
    policy.rate = RateLimit(perSecond: 10, burst: 2)
    var relay = ManualRelay(policy: policy)
    for lane in 1...8 { relay.accept(lane: Int64(lane)) }
    for _ in 0..<20 { relay.pass(ms: 100) }
    relay.commit()
    #expect(relay.attempted == [1, 2])
    relay.pass(ms: 100)
    relay.commit()
    #expect(relay.attempted == [1, 2, 3])
    for _ in 0..<8 {
      relay.pass(ms: 100)
      relay.commit()
    }
    #expect(relay.attempted == Array(1...8))
  }

  @Test("where the configuration says so, a wait holds the lane alone")
  func lanesAlone() {
    var relay = Self.relay { $0.holdsAllLanes = false }
    relay.answer(1, status: 429, retryAfter: "10")
    relay.commit()
    #expect(relay.inFlight.map(\.serial) == [2, 3, 4] && Self.heldUntil(relay) == nil)
  }

  @Test("a wait that an upstream has asked for can be ended by somebody")
  func ended() {
    var relay = Self.relay()
    relay.answer(1, status: 429, retryAfter: "3600")
    relay.commit()
    for serial in [2, 3] { relay.answer(Serial(serial)) }
    relay.commit()
    #expect(relay.inFlight.isEmpty)
    let isProbed = relay.scheduler.probe(ManualRelay.upstream, now: relay.clock)
    relay.take()
    #expect(isProbed && relay.inFlight.count == 1)
    let isProbedAgain = relay.scheduler.probe(ManualRelay.upstream, now: relay.clock)
    #expect(!isProbedAgain)
  }

  @Test("somebody can end the waits of lanes that a reachable upstream has answered with an error")
  func endedWaits() {
    var relay = Self.relay()
    for serial in 1...8 {
      relay.answer(Serial(serial), status: 502)
      relay.commit()
    }
    #expect(relay.inFlight.isEmpty)
    let count = relay.scheduler.endWaits(at: ManualRelay.upstream, now: relay.clock)
    relay.take()
    #expect(count == 8 && relay.inFlight.map(\.serial) == [1, 2, 3])
    for serial in relay.inFlight.map(\.serial) { relay.answer(serial) }
    relay.commit()
    #expect(relay.inFlight.map(\.serial) == [4, 5, 6])
    let countThen = relay.scheduler.endWaits(at: ManualRelay.upstream, now: relay.clock)
    #expect(countThen == 0, "none waits that is under way, or has its turn")
  }

  @Test("with the wait of an upstream end those of the lanes that were told of it")
  func endedInLanes() {
    var relay = Self.relay()
    for serial in [1, 2, 3] { relay.answer(Serial(serial), status: 429, retryAfter: "3600") }
    relay.commit()
    _ = relay.scheduler.probe(ManualRelay.upstream, now: relay.clock)
    relay.take()
    var first: Set<Serial> = []
    for _ in 0..<20 where !first.isSuperset(of: [1, 2, 3]) {
      for entry in relay.inFlight {
        first.insert(entry.serial)
        relay.answer(entry.serial)
      }
      relay.commit()
    }
    #expect(first.isSuperset(of: [1, 2, 3]), "\(first)")
  }

  @Test("a configured rate lets no more begin, and wakes the scheduler for the next")
  func rate() {
    var relay = Self.relay { $0.rate = RateLimit(perSecond: 10, burst: 2) }
    var times: [Int64] = []
    let start = relay.clock.monotonic
    for _ in 0..<40 where !relay.line.isEmpty {
      for entry in relay.inFlight {
        times.append(relay.clock.monotonic.milliseconds(since: start))
        relay.answer(entry.serial)
      }
      relay.commit()
      guard let wake = relay.scheduler.nextWake else { break }
      #expect(wake > relay.clock.monotonic)
      relay.advance(to: wake)
      relay.timePassed()
    }
    #expect(times == [0, 0, 100, 200, 300, 400, 500, 600])
  }

  @Test("while all slots are taken, the pace wakes nobody")
  func noWake() {
    var relay = Self.relay { $0.rate = RateLimit(perSecond: 1000, burst: 3) }
    #expect(relay.inFlight.count == 3 && relay.scheduler.nextWake == nil)
    relay.pass(ms: 5000)
    #expect(relay.scheduler.nextWake == nil)
  }

  /// An upstream that takes so many at once and so many a second, and asks for a wait.
  struct Limited: Sendable, CustomTestStringConvertible {
    var perSecond: Double
    var burst: Double
    var waitSeconds: Int
    /// The most refusals, and the longest time in seconds, for 600 envelopes.
    var refusalsMax: Int
    var secondsMax: Int64
    var testDescription: String { "\(perSecond)/s, \(burst) at once, wait \(waitSeconds) s" }
  }

  @Test(
    "of 600 envelopes an upstream that limits its rate refuses few, and gets all in good time",
    arguments: [
      Limited(perSecond: 20, burst: 20, waitSeconds: 1, refusalsMax: 90, secondsMax: 45),
      Limited(perSecond: 20, burst: 1, waitSeconds: 1, refusalsMax: 110, secondsMax: 90),
      Limited(perSecond: 100 / 60, burst: 100, waitSeconds: 60, refusalsMax: 90, secondsMax: 380),
      Limited(perSecond: 500, burst: 50, waitSeconds: 1, refusalsMax: 200, secondsMax: 10),
    ])
  func fewRefusals(limited: Limited) {
    var relay = ManualRelay(policy: .manual.concurrency(64))
    for lane in 1...600 { relay.accept(lane: Int64(lane)) }
    let start = relay.clock.monotonic
    var (taken, refused) = (0, 0)
    var tokens = limited.burst
    while taken < 600, refused < 3000 {
      for entry in relay.inFlight {
        let isTaken = tokens >= 1
        if isTaken { tokens -= 1 }
        taken += isTaken ? 1 : 0
        refused += isTaken ? 0 : 1
        relay.answer(
          entry.serial, status: isTaken ? 200 : 429,
          retryAfter: isTaken ? nil : String(limited.waitSeconds))
      }
      relay.commit()
      // An answer takes 5 ms.
      relay.pass(ms: 5)
      tokens = min(limited.burst, tokens + limited.perSecond * 0.005)
    }
    let seconds = relay.clock.monotonic.milliseconds(since: start) / 1000
    #expect(
      refused <= limited.refusalsMax && seconds <= limited.secondsMax,
      "\(refused) refused in \(seconds) s")
  }
}
