@testable import RelayCore
import Testing

@Suite("How long an envelope waits")
struct RetryTests {
  private let policy = RetryPolicy(
    firstDelayMs: 1000, maxDelayMs: 900_000, factor: 2, retryAfterMaxMs: 3_600_000)
  private let now = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

  @Test(
    "the bound doubles with each failure up to its cap",
    arguments: [
      (0, 1000), (1, 1000), (2, 2000), (3, 4000), (10, 512_000), (11, 900_000),
      (1_000_000, 900_000),
    ])
  func bounds(failures: Int, boundMs: Int64) {
    #expect(policy.boundMs(afterFailures: failures) == boundMs)
  }

  @Test("limits at the end of the range are kept, not overflowed")
  func extremes() {
    let extreme = RetryPolicy(
      firstDelayMs: 1, maxDelayMs: .max, factor: 1e300, retryAfterMaxMs: .max)
    var random = SplitMix64(seed: 1)
    #expect(extreme.boundMs(afterFailures: 50) == .max)
    let asked = extreme.delayMs(afterFailures: 1, retryAfterMs: .max, random: &random)
    #expect(asked == .max)
  }

  @Test("a factor of one never grows")
  func constant() {
    let flat = RetryPolicy(firstDelayMs: 500, maxDelayMs: 900, factor: 1, retryAfterMaxMs: 0)
    #expect(flat.boundMs(afterFailures: 1_000_000_000) == 500)
  }

  @Test("waits are drawn evenly from nothing to the bound", arguments: [1, 2, 3] as [UInt64])
  func fullJitter(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var quarters = [0, 0, 0, 0]
    for _ in 0..<8000 {
      let delay = policy.delayMs(afterFailures: 3, retryAfterMs: nil, random: &random)
      #expect((0...4000).contains(delay))
      quarters[min(3, Int(delay / 1000))] += 1
    }
    #expect(quarters.allSatisfy { (1800...2200).contains($0) })
  }

  @Test("Retry-After is waited out, with no more than a first wait's jitter on top")
  func retryAfterIsHonoured() {
    var random = SplitMix64(seed: 7)
    var delays: Set<Int64> = []
    for _ in 0..<1000 {
      let delay = policy.delayMs(afterFailures: 9, retryAfterMs: 30_000, random: &random)
      #expect((30_000...31_000).contains(delay))
      delays.insert(delay)
    }
    // Lanes that were told the same time do not come back at one moment.
    #expect(delays.count > 500)
    let capped = policy.delayMs(afterFailures: 1, retryAfterMs: .max, random: &random)
    #expect((3_600_000...3_601_000).contains(capped))
  }

  @Test("no wait asked for is no end of the backoff", arguments: [0, -5] as [Int64])
  func noWait(retryAfterMs: Int64) {
    var random = SplitMix64(seed: 7)
    let delays = (0..<1000).map { _ in
      policy.delayMs(afterFailures: 9, retryAfterMs: retryAfterMs, random: &random)
    }
    #expect(delays.allSatisfy { (0...256_000).contains($0) })
    #expect(delays.count { $0 > 1000 } > 900)
  }

  @Test(
    "Retry-After is read as seconds or as a date, and anything else is passed over",
    arguments: [
      ("0", 0), ("120", 120_000), (" 7 ", 7000), ("99999999999999999999", Int64.max),
      ("Tue, 14 Nov 2023 22:14:20 GMT", 60_000), ("Tue, 14 Nov 2023 22:00:00 GMT", 0),
      ("-1", nil), ("+1", nil), ("1.5", nil), ("soon", nil), ("", nil), ("-0", nil),
    ] as [(String, Int64?)])
  func retryAfterForms(text: String, milliseconds: Int64?) {
    var headers = HeaderBlock()
    headers.append(name: "retry-after", value: text)
    let report = AttemptReport(
      serial: 1,
      event: .answered(UpstreamResponse(status: 503, headers: headers, body: [])),
      startedAt: now, durationMs: 1)
    #expect(report.retryAfterMs(at: now) == milliseconds)
  }

  @Test("a Retry-After that is a date goes by the upstream's own clock where that is known")
  func retryAfterByTheUpstreamsClock() {
    var headers = HeaderBlock()
    headers.append(name: "Date", value: "Thu, 01 Jan 1970 00:00:10 GMT")
    headers.append(name: "Retry-After", value: "Thu, 01 Jan 1970 00:01:10 GMT")
    let report = AttemptReport(
      serial: 1,
      event: .answered(UpstreamResponse(status: 503, headers: headers, body: [])),
      startedAt: now, durationMs: 1)
    #expect(report.retryAfterMs(at: now) == 60_000)
  }

  @Test("no wait goes beyond the deadline")
  func deadline() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 5000))
    relay.answer(1, status: 500, retryAfter: "60")
    #expect(
      relay.uncommitted.first?.change == .retry(at: relay.clock.wall.adding(milliseconds: 5000)))
    relay.commit()
    relay.pass(ms: 5000)
    #expect(relay.attempted == [1])
    guard case .end(.expired, _)? = relay.uncommitted.first?.change else {
      Issue.record("it did not expire")
      return
    }
  }
}

@Suite("What an attempt shows")
struct OutcomeTests {
  private func outcome(_ status: Int, _ rules: OutcomeRules = .standard) -> Outcome {
    rules.outcome(
      of: .answered(UpstreamResponse(status: status, headers: HeaderBlock(), body: [])))
  }

  @Test("2xx delivers; 408, 425, 429 and 5xx are tried again; everything else refuses")
  func standard() {
    for status in 200...599 {
      let expected: Outcome =
        switch status {
        case 200...299: .delivered
        case 408, 425, 429, 500...599: .unreachable
        default: .refused
        }
      #expect(outcome(status) == expected, "\(status)")
    }
  }

  @Test("an upstream's own sets count instead")
  func custom() {
    let rules = OutcomeRules(
      deliver: StatusSet(codes: [409], classes: [2]), retry: StatusSet(codes: [404]))
    #expect(outcome(409, rules) == .delivered)
    #expect(outcome(404, rules) == .unreachable)
    #expect(outcome(503, rules) == .refused)
  }

  @Test("whatever kept an answer from coming is unreachable", arguments: ConnectionFailure.allCases)
  func failures(failure: ConnectionFailure) {
    #expect(OutcomeRules.standard.outcome(of: .failed(failure, detail: "")) == .unreachable)
  }

  @Test("sets know whether they overlap")
  func disjoint() {
    let fives = StatusSet(classes: [5])
    #expect(fives.isDisjoint(with: StatusSet(codes: [408], classes: [2])))
    #expect(!fives.isDisjoint(with: StatusSet(codes: [503])))
  }
}
