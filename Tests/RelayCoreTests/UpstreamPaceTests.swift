import Testing

@testable import RelayCore

@Suite("Pace of an upstream")
struct UpstreamPaceTests {
  private static func at(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).adding(milliseconds: milliseconds)
  }

  /// A request is refused that was under way from one time to another.
  private static func refuse(
    _ pace: inout UpstreamPace, from start: Int64, _ end: Int64, waitMs: Int64
  ) -> Bool {
    pace.refused(beganAt: at(start), waitMs: waitMs, at: at(end))
  }

  /// Begins requests as soon as they may begin, and returns the times in milliseconds.
  private static func begin(
    _ pace: inout UpstreamPace, from start: Int64, until end: Int64
  ) -> [Int64] {
    var times: [Int64] = []
    var now = max(at(start), pace.opensAt)
    while now < at(end), times.count < 10_000 {
      times.append(now.milliseconds(since: at(0)))
      pace.began(at: now)
      pace.taken(at: now)
      now = max(now, pace.opensAt)
    }
    return times
  }

  @Test("without a rate and without a refusal nothing waits")
  func unlimited() {
    var pace = UpstreamPace(limit: nil)
    for _ in 0..<1000 { pace.began(at: Self.at(5)) }
    #expect(pace.opensAt <= Self.at(5) && pace.perSecond(at: Self.at(5)) == nil)
  }

  @Test("a configured rate lets its burst begin at once, and then one after the other")
  func limited() {
    var pace = UpstreamPace(limit: RateLimit(perSecond: 10, burst: 3))
    #expect(Self.begin(&pace, from: 0, until: 500) == [0, 0, 0, 100, 200, 300, 400])
    #expect(pace.perSecond(at: Self.at(500)) == 10)
  }

  @Test("an announced request has its token when it is sent, however long that takes")
  func announced() {
    var pace = UpstreamPace(limit: RateLimit(perSecond: 10, burst: 3))
    for _ in 0..<3 { pace.began(isAnnounced: true, at: Self.at(0)) }
    #expect(pace.opensAt == UpstreamPace.never)
    pace.announcementEnded(isSent: false, at: Self.at(2000))
    #expect(pace.opensAt <= Self.at(2000))
    for _ in 0..<2 { pace.announcementEnded(isSent: true, at: Self.at(2000)) }
    #expect(Self.begin(&pace, from: 2000, until: 2200) == [2000, 2100])
  }

  @Test("another configured rate holds from the moment at which it is set")
  func reconfigured() {
    var pace = UpstreamPace(limit: RateLimit(perSecond: 0.1, burst: 1))
    pace.began(at: Self.at(0))
    #expect(pace.opensAt == Self.at(10_000))
    pace.update(limit: nil, at: Self.at(5))
    #expect(pace.opensAt <= Self.at(5))
  }

  @Test("a higher configured rate holds at once, whatever the lower one was owed")
  func raised() {
    var pace = UpstreamPace(limit: RateLimit(perSecond: 0.01, burst: 100))
    for _ in 0..<100 { pace.began(at: Self.at(0)) }
    pace.update(limit: RateLimit(perSecond: 10, burst: 5), at: Self.at(10))
    #expect(Self.begin(&pace, from: 10, until: 300) == [110, 210])
  }

  @Test("a wait that the upstream asks for ends when it said, or when somebody ends it")
  func held() {
    var pace = UpstreamPace(limit: nil)
    #expect(Self.refuse(&pace, from: 0, 10, waitMs: 1000))
    #expect(pace.opensAt == Self.at(1010) && pace.heldUntil(at: Self.at(10)) == Self.at(1010))
    #expect(pace.heldUntil(at: Self.at(1010)) == nil)
    pace.endWait()
    #expect(pace.opensAt <= Self.at(10))
  }

  @Test("of those that were under way together the first refusal counts, and the longest wait")
  func together() {
    var pace = UpstreamPace(limit: nil)
    #expect(Self.refuse(&pace, from: 0, 10, waitMs: 1000))
    pace.taken(at: Self.at(15))
    #expect(!Self.refuse(&pace, from: 5, 20, waitMs: 3000))
    #expect(!Self.refuse(&pace, from: 6, 21, waitMs: 1))
    #expect(pace.opensAt == Self.at(3020) && pace.perSecond(at: Self.at(4000)) == nil)
  }

  @Test("the rate is learned from what was taken between two refusals, and tried again slowly")
  func learned() throws {
    var pace = UpstreamPace(limit: nil)
    _ = Self.refuse(&pace, from: 0, 0, waitMs: 1000)
    for _ in 0..<40 { pace.taken(at: Self.at(100)) }
    #expect(Self.refuse(&pace, from: 1990, 2000, waitMs: 1000))
    #expect(pace.perSecond(at: Self.at(3000)) == 14)
    let times = Self.begin(&pace, from: 2000, until: 4000)
    #expect(times.first == 3000 && (13...16).contains(times.count), "\(times)")
    for (time, rate) in [(5500, 17.0), (8000, 20), (13_000, 40)] {
      _ = Self.begin(&pace, from: 0, until: Int64(time))
      #expect(pace.perSecond(at: Self.at(Int64(time))) == rate)
    }
    _ = Self.begin(&pace, from: 13_000, until: 60_000)
    #expect(pace.perSecond(at: Self.at(60_000)) == nil, "forgotten")
  }

  @Test("a learned rate does not grow, and is not forgotten, while nothing is sent")
  func idle() {
    var pace = UpstreamPace(limit: nil)
    for number in 0..<100 { pace.taken(at: Self.at(Int64(number) * 10)) }
    _ = Self.refuse(&pace, from: 990, 999, waitMs: 1)
    _ = Self.begin(&pace, from: 1000, until: 6000)
    #expect((84...86).contains(pace.perSecond(at: Self.at(6000)) ?? 0))
    for hour in [1, 2] as [Int64] {
      let time = hour * 3_600_000
      #expect((84...90).contains(pace.perSecond(at: Self.at(time)) ?? 0))
      _ = Self.begin(&pace, from: time, until: time + 10)
    }
  }

  @Test("many that were taken within the last second show a rate at the first refusal already")
  func learnedAtOnce() {
    var pace = UpstreamPace(limit: nil)
    for number in 0..<100 { pace.taken(at: Self.at(Int64(number) * 10)) }
    _ = Self.refuse(&pace, from: 990, 999, waitMs: 1)
    _ = Self.begin(&pace, from: 1000, until: 6000)
    let rate = pace.perSecond(at: Self.at(6000)) ?? 0
    #expect((84...86).contains(rate), "\(rate)")
  }

  @Test("nothing is learned from refusals that lie far apart, or with nothing taken between them")
  func unlearned() {
    var pace = UpstreamPace(limit: nil)
    _ = Self.refuse(&pace, from: 0, 0, waitMs: 10)
    #expect(Self.refuse(&pace, from: 50, 60, waitMs: 10))
    #expect(pace.perSecond(at: Self.at(100)) == nil)
    pace.taken(at: Self.at(70))
    #expect(Self.refuse(&pace, from: 99_000, 99_000, waitMs: 10))
    #expect(pace.perSecond(at: Self.at(99_100)) == nil)
  }

  @Test("a rate is given up if the upstream refuses however little it gets, and learned later")
  func givenUp() {
    var pace = UpstreamPace(limit: nil)
    var time: Int64 = 0
    var rates: [Double] = []
    for _ in 0..<7 {
      for _ in 0..<5 { pace.taken(at: Self.at(time)) }
      time += 500
      _ = Self.refuse(&pace, from: time - 1, time, waitMs: 100)
      rates.append(pace.perSecond(at: Self.at(time)) ?? 0)
    }
    #expect(rates[0] == 0 && rates[1...5].allSatisfy { $0 > 0 } && rates[6] == 0, "\(rates)")
    pace.taken(at: Self.at(time))
    _ = Self.refuse(&pace, from: time + 59_000, time + 59_000, waitMs: 1)
    #expect(pace.perSecond(at: Self.at(time + 59_000)) == nil)
    pace.taken(at: Self.at(time))
    _ = Self.refuse(&pace, from: time + 61_000, time + 61_000, waitMs: 1)
    #expect(pace.perSecond(at: Self.at(time + 61_000)) != nil)
  }

  @Test("a refusal below the learned rate after a few were taken lowers it by half at most")
  func fewTaken() {
    var pace = UpstreamPace(limit: nil)
    for number in 0..<100 { pace.taken(at: Self.at(Int64(number) * 10)) }
    _ = Self.refuse(&pace, from: 990, 999, waitMs: 1000)
    #expect((59...60).contains(pace.perSecond(at: Self.at(1999)) ?? 0))
    pace.began(at: Self.at(1999))
    pace.taken(at: Self.at(2005))
    _ = Self.refuse(&pace, from: 2000, 2010, waitMs: 1000)
    #expect((29...30).contains(pace.perSecond(at: Self.at(3010)) ?? 0))
  }

  @Test("a rate is given up also where it is the least that there is")
  func leastGivenUp() {
    var pace = UpstreamPace(limit: nil)
    var rates: [Double?] = []
    for round in 1...8 as ClosedRange<Int64> {
      let time = round * 20_000
      pace.taken(at: Self.at(time - 5000))
      _ = Self.refuse(&pace, from: time - 1, time, waitMs: 1000)
      rates.append(pace.perSecond(at: Self.at(time)))
    }
    #expect(rates[1] == LearnedRate.least && rates[7] == nil, "\(rates)")
  }

  @Test("the slower of the configured rate and the learned one counts")
  func both() {
    var pace = UpstreamPace(limit: RateLimit(perSecond: 5, burst: 1))
    _ = Self.refuse(&pace, from: 0, 0, waitMs: 1)
    for _ in 0..<100 { pace.taken(at: Self.at(1)) }
    _ = Self.refuse(&pace, from: 1, 1000, waitMs: 1)
    #expect(pace.perSecond(at: Self.at(1001)) == 5 && !pace.isLearned(at: Self.at(1001)))
    #expect(Self.begin(&pace, from: 1001, until: 2001).count == 5)
  }

  @Test("whoever changes the configured rate knows more than was learned, which is forgotten")
  func changed() throws {
    var pace = UpstreamPace(limit: nil)
    _ = Self.refuse(&pace, from: 0, 0, waitMs: 1000)
    for _ in 0..<4 { pace.taken(at: Self.at(100)) }
    _ = Self.refuse(&pace, from: 1990, 2000, waitMs: 1000)
    #expect(try #require(pace.perSecond(at: Self.at(3000))) < 3)
    #expect(pace.isLearned(at: Self.at(3000)))
    let limit = RateLimit(perSecond: 20, burst: 2)
    pace.update(limit: limit, at: Self.at(3000))
    #expect(pace.perSecond(at: Self.at(3000)) == 20 && !pace.isLearned(at: Self.at(3000)))
    _ = Self.refuse(&pace, from: 3990, 4000, waitMs: 1000)
    pace.update(limit: limit, at: Self.at(4000))
    #expect(pace.perSecond(at: Self.at(4000)) == 20, "nothing was taken since")
  }
}
