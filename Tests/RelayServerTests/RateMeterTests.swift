import RelayCore
import RelayServer
import Testing

@Suite("Rates")
struct RateMeterTests {
  private func at(_ second: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: second * 1_000_000_000)
  }

  @Test("a rate is the average of the last minute, and what is older is forgotten")
  func window() {
    let meter = RateMeter()
    meter.count(.accepted, 120, at: at(1000))
    meter.count(.accepted, 60, at: at(1030))
    meter.count(.delivered, at: at(1030))
    #expect(meter.perSecond(.accepted, at: at(1030)) == 3)
    #expect(meter.perSecond(.accepted, at: at(1059)) == 3)
    #expect(meter.perSecond(.accepted, at: at(1060)) == 1)
    #expect(meter.perSecond(.accepted, at: at(1090)) == 0)
    #expect(meter.perSecond(.failed, at: at(1090)) == 0)
  }

  @Test("after a long silence nothing old is left")
  func silence() {
    let meter = RateMeter()
    meter.count(.attempts, 60, at: at(5))
    meter.count(.attempts, 60, at: at(1_000_000))
    #expect(meter.perSecond(.attempts, at: at(1_000_000)) == 1)
  }

  @Test("attempts are counted by what is recorded of each envelope, also where nothing came of it")
  func attempts() {
    let meter = RateMeter()
    let time = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)
    func transition(_ change: Transition.Change, isAttempt: Bool = true) -> Transition {
      let attempt = AttemptRecord(
        number: 1, startedAt: time, durationMs: 7, outcome: .unreachable, status: nil, error: nil)
      return Transition(
        serial: 1, lane: LaneNumber(rawValue: 1), upstream: UpstreamNumber(rawValue: 1),
        change: change, at: time, attempt: isAttempt ? attempt : nil, epoch: 1)
    }
    var moot = transition(.retry(at: time))
    moot.isMoot = true
    var commit = Commit()
    commit.changes = [
      .changed([
        transition(.retry(at: time)), transition(.end(.failed, reason: "")), moot,
        transition(.end(.cancelled, reason: ""), isAttempt: false),
      ])
    ]
    meter.committed(commit, at: Now(wall: time, monotonic: at(1000)))
    #expect(meter.perSecond(.attempts, at: at(1000)) * Double(RateMeter.windowSeconds) == 3)
    #expect(meter.perSecond(.failed, at: at(1000)) * Double(RateMeter.windowSeconds) == 1)
  }
}
