import RelayCore
import Testing

@Suite("Reachability of an upstream")
struct ReachabilityTests {
  private let policy = ReachabilityPolicy(
    failuresBeforeUnreachable: 3, firstProbeDelayMs: 1000, maxProbeDelayMs: 8000)
  private var random = SplitMix64(seed: 3)
  private var upstream: Reachability
  private var now = Now(
    wall: WallTime(millisecondsSinceEpoch: 1_700_000_000_000),
    monotonic: MonotonicTime(nanoseconds: 1_000_000_000))

  init() {
    upstream = Reachability(policy: policy, concurrencyMax: 4, since: now.wall)
  }

  private mutating func pass(ms: Int64) {
    now.monotonic = now.monotonic.adding(milliseconds: ms)
    now.wall = now.wall.adding(milliseconds: ms)
  }

  private mutating func fail(wasProbe: Bool = false) -> Reachability.Change {
    upstream.failed(wasProbe: wasProbe, now: now, random: &random)
  }

  private mutating func becomeUnreachable() {
    for _ in 0..<3 { _ = fail() }
  }

  private var msToProbe: Int64? { upstream.nextProbeAt?.milliseconds(since: now.monotonic) }

  /// Waits for the probe, lets it fail, and says how long the wait was.
  private mutating func failProbe() -> Int64 {
    let wait = msToProbe ?? 0
    pass(ms: wait + 1)
    upstream.attemptBegan()
    _ = fail(wasProbe: true)
    return wait
  }

  @Test("only failures in a row make an upstream unreachable; an answer starts the count anew")
  mutating func threshold() {
    var changes = [fail(), fail(), upstream.answered(now: now), fail(), fail()]
    #expect(changes.allSatisfy { $0 == .none } && upstream.isReachable)
    pass(ms: 5)
    changes = [fail()]
    #expect(changes == [.becameUnreachable])
    #expect(!upstream.isReachable && upstream.since == now.wall)
  }

  @Test("waits between probes double up to their cap, half of each certain and half drawn")
  mutating func probeBackoff() {
    becomeUnreachable()
    for bound: Int64 in [1000, 2000, 4000, 8000, 8000, 8000] {
      let wait = failProbe()
      #expect((bound / 2 - 1...bound).contains(wait), "\(wait) of \(bound)")
    }
    for _ in 0..<100 {
      let wait = failProbe()
      #expect(wait <= 8000)
    }
  }

  @Test("one probe goes out when it is due, and none beside it")
  mutating func oneProbe() {
    becomeUnreachable()
    #expect(upstream.freeSlots(inFlight: 0, now: now.monotonic) == 0)
    pass(ms: 1000)
    #expect(upstream.freeSlots(inFlight: 2, now: now.monotonic) == 1)
    upstream.attemptBegan()
    pass(ms: 1_000_000)
    #expect(upstream.freeSlots(inFlight: 0, now: now.monotonic) == 0)
    #expect(upstream.nextProbeAt == nil)
  }

  @Test("after a probe is answered, attempts ramp up by one with each answer")
  mutating func ramp() {
    becomeUnreachable()
    pass(ms: 1000)
    upstream.attemptBegan()
    let change = upstream.answered(now: now)
    #expect(change == .becameReachable)
    var windows = [upstream.window]
    for _ in 0..<5 {
      _ = upstream.answered(now: now)
      windows.append(upstream.window)
    }
    #expect(windows == [1, 2, 3, 4, 4, 4])
    #expect(upstream.freeSlots(inFlight: 9, now: now.monotonic) == 0)
  }

  @Test("failures of attempts begun before the outage do not lengthen it")
  mutating func oldFailures() {
    becomeUnreachable()
    let due = upstream.nextProbeAt
    for _ in 0..<10 { _ = fail() }
    #expect(upstream.nextProbeAt == due)
    pass(ms: 1000)
    upstream.attemptBegan()
    _ = fail()
    #expect(upstream.nextProbeAt == nil && !upstream.isReachable)
  }

  @Test("an answer to an attempt begun before the outage ends it")
  mutating func oldAnswer() {
    becomeUnreachable()
    let change = upstream.answered(now: now)
    #expect(change == .becameReachable)
    #expect(upstream.window == 1)
  }

  @Test("new reason to try cuts the wait short, though not below the first wait since a probe")
  mutating func hastening() {
    becomeUnreachable()
    for _ in 0..<5 { _ = failProbe() }
    pass(ms: 200)
    var isEarlier = upstream.hasten(now: now.monotonic)
    #expect(isEarlier && msToProbe == 800)
    isEarlier = upstream.hasten(now: now.monotonic)
    #expect(!isEarlier && msToProbe == 800)
    let other = failProbe()
    pass(ms: 3000)
    isEarlier = upstream.hasten(now: now.monotonic)
    #expect(other == 800 && isEarlier && msToProbe == 0)
  }

  @Test("who ends the wait while a probe is under way has another one follow at once if it fails")
  mutating func again() {
    becomeUnreachable()
    for _ in 0..<5 { _ = failProbe() }
    pass(ms: 8000)
    upstream.attemptBegan()
    upstream.probeNow(at: now.monotonic)
    #expect(msToProbe == nil)
    _ = fail(wasProbe: true)
    #expect(msToProbe == 0)
    upstream.attemptBegan()
    _ = fail(wasProbe: true)
    #expect(msToProbe.map { $0 >= 4000 } == true, "that was said of one probe alone")
  }

  @Test("a probe that showed nothing is followed by another at once, and lengthens no wait")
  mutating func withdrawn() {
    becomeUnreachable()
    pass(ms: 1000)
    upstream.attemptBegan()
    upstream.attemptWithdrawn(now: now.monotonic)
    #expect(msToProbe == 0)
    #expect(upstream.freeSlots(inFlight: 0, now: now.monotonic) == 1)
  }
}
