import HTTPServer
import RelayCore
import RelayServer
import Testing

@Suite("What metrics count")
struct DeliveryFiguresTests {
  private let time = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

  private func transition(
    _ upstream: Int32, _ change: Transition.Change, _ outcome: Outcome? = nil
  ) -> Transition {
    let attempt = outcome.map {
      AttemptRecord(
        number: 1, startedAt: time, durationMs: 70, outcome: $0, status: nil, error: nil)
    }
    return Transition(
      serial: 1, lane: LaneNumber(rawValue: 1), upstream: UpstreamNumber(rawValue: upstream),
      change: change, at: time.adding(milliseconds: 2000), attempt: attempt, acceptedAt: time,
      epoch: 1)
  }

  @Test("attempts, ends and delays are counted for the upstream that they are of")
  func counting() {
    var figures = DeliveryFigures(
      ["a", "b"],
      numbers: ["a": UpstreamNumber(rawValue: 7), "b": UpstreamNumber(rawValue: 3)])
    figures.count([
      transition(3, .end(.delivered, reason: ""), .delivered),
      transition(3, .retry(at: time), .unreachable),
      transition(7, .end(.failed, reason: ""), .refused),
      transition(7, .end(.expired, reason: "")),
      transition(9, .end(.cancelled, reason: "")),
    ])
    #expect(figures.upstreams.map(\.name) == ["a", "b", MetricsLimits.otherUpstream])
    #expect(figures.upstreams[0].ends == [.failed: 1, .expired: 1])
    #expect(figures.upstreams[0].attempts.mapValues(\.count) == [.refused: 1])
    #expect(figures.upstreams[1].ends == [.delivered: 1])
    #expect(
      figures.upstreams[1].attempts.mapValues(\.count) == [.delivered: 1, .unreachable: 1])
    #expect(figures.upstreams[1].deliveries.sum == 2000)
    #expect(figures.upstreams[2].ends == [.cancelled: 1])
  }

  @Test("a dead letter that is given up, or is put back in line and delivered, ends a second time")
  func endsAgain() {
    let upstream = UpstreamNumber(rawValue: 1)
    var figures = DeliveryFigures(["a"], numbers: ["a": upstream])
    figures.count([
      transition(1, .end(.failed, reason: ""), .refused),
      transition(1, .end(.failed, reason: ""), .refused),
      transition(1, .end(.expired, reason: "")),
      transition(1, .end(.expired, reason: "")),
    ])
    func change(_ state: EnvelopeState, _ result: EndChange.Result) -> EndChange {
      EndChange(
        serial: 1, lane: LaneNumber(rawValue: 1), upstream: upstream, state: state, endedAt: time,
        isTried: true, result: result)
    }
    figures.count([change(.failed, .cancelled), change(.expired, .cancelled)])
    #expect(figures.upstreams[0].ends == [.failed: 2, .expired: 2, .cancelled: 2])
    figures.count([change(.failed, .gone), change(.expired, .redirected(to: upstream))])
    figures.count([transition(1, .end(.delivered, reason: ""), .delivered)])
    #expect(
      figures.upstreams[0].ends == [.failed: 2, .expired: 2, .cancelled: 2, .delivered: 1])
  }

  @Test("what came to nothing is no end, though its attempt was made")
  func moot() {
    var figures = DeliveryFigures(["a"], numbers: ["a": UpstreamNumber(rawValue: 1)])
    var moot = transition(1, .end(.delivered, reason: ""), .delivered)
    moot.isMoot = true
    figures.count([moot])
    #expect(figures.upstreams[0].ends.isEmpty && figures.upstreams[0].deliveries.count == 0)
    #expect(figures.upstreams[0].attempts[.delivered]?.count == 1)
  }

  @Test("upstreams past the limit share the series of the others")
  func bounded() {
    let names = (0..<1000).map { "u\($0)" }
    var numbers: [String: UpstreamNumber] = [:]
    for (index, name) in names.enumerated() {
      numbers[name] = UpstreamNumber(rawValue: Int32(index))
    }
    var figures = DeliveryFigures(names, numbers: numbers)
    figures.count((0..<1000).map { transition($0, .end(.delivered, reason: ""), .delivered) })
    #expect(figures.upstreams.count == MetricsLimits.upstreamsMax + 1)
    #expect(
      figures.upstreams.last?.ends[.delivered] == UInt64(1000 - MetricsLimits.upstreamsMax))
  }

  @Test("a status of any number has its class")
  func classes() {
    var figures = RequestFigures(kindCount: 2)
    for status in [100, 200, 299, 301, 404, 503, 999] {
      figures.count(AnsweredRequest(listener: 0, status: status, durationUs: 5), kind: 1)
    }
    figures.count(AnsweredRequest(listener: 0, status: 431, durationUs: nil), kind: 1)
    let cells = (0..<4).map { figures.cell(kind: 1, codeClass: $0) }
    #expect(cells.map(\.count) == [3, 1, 2, 2])
    #expect(cells.map(\.durations.count) == [3, 1, 1, 2])
    #expect(figures.cell(kind: 0, codeClass: 0).count == 0)
  }
}
