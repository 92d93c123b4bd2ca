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

  private static func entry(_ serial: Int64) -> LineEntry {
    LineEntry(
      serial: Serial(serial), client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
      upstream: api, acceptedAt: now(0).wall, expiresAt: now(1_000_000).wall)
  }

  private mutating func count(
    _ change: Transition.Change, status: Int? = nil, serial: Int64 = 1, atMs ms: Int64 = 0
  ) {
    let now = Self.now(ms)
    let attempt = status.map { status in
      AttemptRecord(
        number: 1, startedAt: now.wall, durationMs: 1, outcome: .refused, status: status,
        error: "the upstream answered \(status)")
    }
    window.count(
      [
        Transition(
          serial: Serial(serial), lane: LaneNumber(rawValue: 1), upstream: Self.api, change: change,
          at: now.wall, attempt: attempt, isAnswered: attempt != nil, epoch: 1)
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

  @Test("dead letters are told until they are requeued, or for a day after the last")
  mutating func deadLetters() {
    count(.end(.failed, reason: "no"), status: 400, serial: 7, atMs: 0)
    count(.end(.failed, reason: "no"), status: 400, serial: 8, atMs: 1000)
    let letters = window.deadLetters(of: Self.api, at: Self.now(2000).wall)
    #expect(letters?.count == 2 && letters?.since == Self.now(0).wall)
    #expect(letters?.last.serial == Serial(8))
    let dayLater = Self.now(1000 + OutcomeWindow.deadLettersMs).wall
    #expect(window.deadLetters(of: Self.api, at: dayLater) == nil)
    for serial in [Int64(7), 8] {
      count(.requeue(Self.entry(serial)), atMs: 3000)
    }
    #expect(window.deadLetters(of: Self.api, at: Self.now(3000).wall) == nil)
  }

  @Test("dead letters that a person gives up are not told")
  mutating func givenUp() {
    for serial in [Int64(7), 8] {
      count(.end(.failed, reason: "no"), status: 400, serial: serial)
    }
    window.gaveUp(.expired, of: Self.api)
    window.gaveUp(.failed, of: Self.api)
    #expect(window.deadLetters(of: Self.api, at: Self.now(0).wall)?.count == 1)
    window.gaveUp(.failed, of: Self.api)
    #expect(window.deadLetters(of: Self.api, at: Self.now(0).wall) == nil)
  }

  @Test("what a person discards is no failure of the upstream's")
  mutating func discarded() {
    count(.end(.failed, reason: "discarded"))
    #expect(window.figures(of: Self.api, at: Self.now(0).monotonic).refused == 0)
    #expect(window.deadLetters(of: Self.api, at: Self.now(0).wall) == nil)
  }
}
