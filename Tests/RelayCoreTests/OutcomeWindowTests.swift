import RelayCore
import Testing

@Suite("What upstreams made of envelopes lately")
struct OutcomeWindowTests {
  private static let api = UpstreamNumber(rawValue: 1)
  private var window = OutcomeWindow()

  private static func now(_ ms: Int64) -> Now {
    Now(
      wall: WallTime(millisecondsSinceEpoch: 1_800_000_000_000 + ms),
      monotonic: MonotonicTime(nanoseconds: (1_000_000 + ms) * 1_000_000))
  }

  private mutating func count(
    _ change: Transition.Change, status: Int? = nil, unanswered outcome: Outcome? = nil,
    serial: Int64 = 1, atMs ms: Int64 = 0
  ) {
    let now = Self.now(ms)
    var attempt: AttemptRecord?
    if status != nil || outcome != nil {
      attempt = AttemptRecord(
        number: 1, startedAt: now.wall, durationMs: 1, outcome: outcome ?? .refused,
        status: status, error: "so it went")
    }
    window.count(
      [
        Transition(
          serial: Serial(serial), lane: LaneNumber(rawValue: 1), upstream: Self.api, change: change,
          at: now.wall, attempt: attempt, isAnswered: status != nil, epoch: 1)
      ], at: now)
  }

  @Test("ends, blocks and answered retries are counted, and attempts without an answer are not")
  mutating func counts() {
    count(.end(.delivered, reason: "the upstream answered 200"), status: 200)
    count(.end(.failed, reason: "the upstream answered 400"), status: 400)
    count(.block(reason: "the upstream answered 422"), status: 422)
    count(.retry(at: Self.now(1000).wall), status: 503)
    count(.retry(at: Self.now(1000).wall))
    count(.end(.expired, reason: "its deadline has passed"))
    let figures = window.figures(of: Self.api, at: Self.now(0).monotonic)
    #expect(figures.delivered == 1 && figures.refused == 2 && figures.retried == 1)
    #expect(figures.answered == 4 && figures.failing == 3 && figures.expired == 1)
    #expect(window.failure(of: Self.api)?.sample.status == 503)
  }

  @Test("counts leave the window once they are ten minutes old")
  mutating func leaves() {
    count(.end(.failed, reason: ""), status: 400, atMs: 0)
    count(.end(.failed, reason: ""), status: 400, atMs: 120_000)
    let refused = { (window: inout OutcomeWindow, ms: Int64) in
      window.figures(of: Self.api, at: Self.now(ms).monotonic).refused
    }
    #expect(refused(&window, 500_000) == 2)
    #expect(refused(&window, OutcomeWindow.windowMs) == 1)
    #expect(refused(&window, 2 * OutcomeWindow.windowMs) == 0)
  }

  @Test("nothing has got through since the first failure after a delivery")
  mutating func since() {
    count(.end(.failed, reason: ""), status: 400, atMs: 0)
    count(.end(.delivered, reason: ""), status: 200, atMs: 1000)
    count(.end(.failed, reason: ""), status: 400, atMs: 2000)
    count(.end(.failed, reason: ""), status: 400, atMs: 3000)
    #expect(window.failure(of: Self.api)?.since == Self.now(2000).wall)
  }

  /// A dead letter is none any more.
  private mutating func change(
    _ serial: Int64, _ result: EndChange.Result = .gone, of upstream: UpstreamNumber = api,
    as state: EnvelopeState = .failed, endedAtMs ms: Int64 = 0, isTried: Bool = true
  ) {
    window.count([
      EndChange(
        serial: Serial(serial), lane: LaneNumber(rawValue: 1), upstream: upstream, state: state,
        endedAt: Self.now(ms).wall, isTried: isTried, result: result)
    ])
  }

  private func letters(of upstream: UpstreamNumber = api) -> OutcomeWindow.DeadLetters? {
    window.deadLetters(of: upstream, at: Self.now(9000).wall)
  }

  @Test("what an upstream never saw is no failure of its own, and a dead letter all the same")
  mutating func unsent() {
    count(.end(.failed, reason: "it could not be filled"), unanswered: .refused)
    count(.block(reason: "it could not be filled"), unanswered: .refused)
    let figures = window.figures(of: Self.api, at: Self.now(0).monotonic)
    #expect(figures.answered == 0 && window.failure(of: Self.api) == nil)
    #expect(letters()?.count == 1 && letters()?.last.reason == "it could not be filled")
    #expect(letters()?.isMixed == false)
    count(.end(.failed, reason: "no"), status: 400)
    #expect(letters()?.isMixed == true)
  }

  @Test("an answer counts as well where nobody can tell what it was, or the deadline has passed")
  mutating func unsettled() {
    count(.block(reason: "it may have arrived"), unanswered: .ambiguous)
    count(.end(.expired, reason: "at last the upstream answered 503"), status: 503)
    let figures = window.figures(of: Self.api, at: Self.now(0).monotonic)
    #expect(figures.refused == 1 && figures.retried == 1 && figures.expired == 1)
  }

  @Test("dead letters are told until they are requeued, or for a day after the last")
  mutating func deadLetters() {
    count(.end(.failed, reason: "no"), status: 400, serial: 7, atMs: 0)
    count(.end(.failed, reason: "no"), status: 400, serial: 8, atMs: 1000)
    let letters = window.deadLetters(of: Self.api, at: Self.now(2000).wall)
    #expect(letters?.count == 2 && letters?.since == Self.now(0).wall)
    #expect(letters?.last.serial == Serial(8))
    let dayLater = Self.now(1000 + OutcomeWindow.deadLettersMs).wall
    #expect(window.deadLetters(of: Self.api, at: dayLater) == nil)
    change(7)
    change(8, endedAtMs: 1000)
    #expect(window.deadLetters(of: Self.api, at: Self.now(3000).wall) == nil)
  }

  @Test("only what is counted as a dead letter is counted out when its end is gone")
  mutating func others() {
    for serial in 1...8 as ClosedRange<Int64> {
      count(.end(.failed, reason: "no"), status: 400, serial: serial, atMs: 1000 + serial)
    }
    change(11, as: .cancelled, endedAtMs: 2000)
    change(12, as: .expired, endedAtMs: 2000)
    // Somebody had discarded it.
    change(13, endedAtMs: 2000, isTried: false)
    // It had ended before the relay was started.
    change(14, endedAtMs: 900)
    #expect(letters()?.count == 8)
    change(8, endedAtMs: 1008)
    #expect(letters()?.count == 7 && letters()?.last.serial == nil)
  }

  @Test("a dead letter that is corrected to another upstream is that one's")
  mutating func redirected() {
    let other = UpstreamNumber(rawValue: 2)
    for serial in [Int64(7), 8] {
      count(.end(.failed, reason: "no"), status: 400, serial: serial, atMs: serial)
    }
    for serial in [Int64(7), 8] { change(serial, .redirected(to: other), endedAtMs: serial) }
    #expect(letters() == nil)
    #expect(letters(of: other)?.count == 2 && letters(of: other)?.since == Self.now(7).wall)
    for serial in [Int64(7), 8] { change(serial, of: other, endedAtMs: serial) }
    #expect(letters(of: other) == nil)
  }

  @Test("dead letters that a person gives up are not told")
  mutating func givenUp() {
    for serial in [Int64(7), 8] {
      count(.end(.failed, reason: "no"), status: 400, serial: serial)
    }
    change(9, .cancelled, as: .expired)
    change(7, .cancelled)
    #expect(window.deadLetters(of: Self.api, at: Self.now(0).wall)?.count == 1)
    change(8, .cancelled)
    #expect(window.deadLetters(of: Self.api, at: Self.now(0).wall) == nil)
  }

  @Test("what a person discards is no failure of the upstream's")
  mutating func discarded() {
    count(.end(.failed, reason: "discarded"))
    #expect(window.figures(of: Self.api, at: Self.now(0).monotonic).refused == 0)
    #expect(window.deadLetters(of: Self.api, at: Self.now(0).wall) == nil)
  }
}
