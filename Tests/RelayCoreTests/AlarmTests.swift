@testable import RelayCore
import Testing

@Suite("One timer for many waits")
struct AlarmTests {
  private func at(_ seconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: seconds * 1_000_000_000)
  }

  private func setting(_ setting: Alarm.Setting?) throws -> Alarm.Setting {
    try #require(setting)
  }

  @Test("the earliest time is set, and a later one sets no other")
  func earliest() throws {
    var alarm = Alarm()
    let nothing = alarm.set(for: nil)
    #expect(nothing == nil)
    let far = try setting(alarm.set(for: at(60)))
    let later = alarm.set(for: at(90))
    let same = alarm.set(for: at(60))
    let near = try setting(alarm.set(for: at(5)))
    #expect(later == nil && same == nil)
    #expect(far.due == at(60) && near.due == at(5) && alarm.setting == near)
  }

  @Test("one that was superseded does nothing when it rings, and leads to no other")
  func superseded() throws {
    var alarm = Alarm()
    let far = try setting(alarm.set(for: at(60)))
    let near = try setting(alarm.set(for: at(5)))
    let didFarCount = alarm.rang(far)
    #expect(!didFarCount && alarm.setting == near)
    let didNearCount = alarm.rang(near)
    let isNearHeardTwice = alarm.rang(near)
    #expect(didNearCount && !isNearHeardTwice)
    // Another timer for the same time is another timer.
    let again = try setting(alarm.set(for: at(60)))
    let isOldOneHeard = alarm.rang(far)
    #expect(again != far && !isOldOneHeard && alarm.setting == again)
    alarm.cancel()
    let isTakenBackOneHeard = alarm.rang(again)
    #expect(!isTakenBackOneHeard && alarm.setting == nil)
  }

  @Test(
    "over a day of short retries beside a long wait there is one timer, and few calls")
  func day() {
    var day = RetryingDay(seed: 1)
    day.run(seconds: 86_400)
    // Each hour is lengthened a little, at random.
    #expect(day.attemptCount > 15_000 && (20...24).contains(day.patientAttemptCount))
    #expect(day.armedMost <= RetryingDay.lateMost + 1, "\(day.armedMost) timers at once")
    #expect(day.callsInSecondMost <= 20, "\(day.callsInSecondMost) calls in a second")
    #expect(day.callCount < 2 * day.attemptCount, "\(day.callCount) calls in all")
  }
}

/// A day of a relay before an upstream that always answers 503: it asks one lane for an hour's
/// patience, and the others for none.
///
/// The loop is as in the process: a setting takes the place of the one before it. Now and then
/// that comes too late, and the superseded one rings all the same.
private struct RetryingDay {
  /// So many that were superseded may be about to ring at once.
  static let lateMost = 3

  private var relay: ManualRelay
  private var alarm = Alarm()
  private var armed: [Alarm.Setting] = []
  private var random: SplitMix64
  private let patient: Serial
  private var second: Int64 = 0
  private var callsInSecond = 0
  private(set) var callsInSecondMost = 0
  private(set) var callCount = 0
  private(set) var armedMost = 0

  var attemptCount: Int { relay.attempted.count }
  var patientAttemptCount: Int { relay.attempted.count { $0 == patient } }

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    var policy = UpstreamPolicy.manual.concurrency(8)
    policy.retry.retryAfterMaxMs = 3_600_000
    relay = ManualRelay(policy: policy)
    patient = relay.accept(lane: 1)
    for lane in 2...5 { relay.accept(relay.makeEntry(lane: Int64(lane), client: 2)) }
    settle()
  }

  mutating func run(seconds: Int64) {
    let end = relay.clock.monotonic.adding(milliseconds: seconds * 1000)
    while let next = armed.min(by: { $0.due < $1.due }), next.due < end {
      armed.removeAll { $0 == next }
      relay.advance(to: next.due)
      count()
      if alarm.rang(next) { relay.timePassed() }
      settle()
    }
  }

  /// All that is under way is answered, and the timer set for what waits then.
  private mutating func settle() {
    for entry in relay.inFlight {
      relay.answer(
        entry.serial, status: 503, retryAfter: entry.serial == patient ? "3600" : nil)
    }
    relay.commit()
    guard let setting = alarm.set(for: relay.scheduler.nextWake) else { return }
    let isTooLate = armed.count <= Self.lateMost && Int.random(in: 0..<4, using: &random) == 0
    if !isTooLate { armed.removeAll() }
    armed.append(setting)
    armedMost = max(armedMost, armed.count)
  }

  private mutating func count() {
    let now = relay.clock.monotonic.nanoseconds / 1_000_000_000
    callsInSecond = now == second ? callsInSecond + 1 : 1
    second = now
    callCount += 1
    callsInSecondMost = max(callsInSecondMost, callsInSecond)
  }
}
