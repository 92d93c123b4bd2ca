import RelayCore
import Testing

@Suite("Counts of times")
struct TimeTallyTests {
  private static func time(_ ms: Int64) -> WallTime {
    WallTime(millisecondsSinceEpoch: 1_800_000_000_000 + ms)
  }

  @Test("the earliest is exact while few come and go, and nothing is left of what has gone")
  func few() {
    var tally = TimeTally()
    #expect(tally.earliest == nil && tally.count == 0)
    for ms in [0, 120_000, 300_000] as [Int64] { tally.insert(Self.time(ms)) }
    #expect(tally.earliest == Self.time(0) && tally.count == 3)
    #expect(tally.count(through: Self.time(-1)) == 0)
    #expect(tally.count(through: Self.time(120_000)) == 2)
    tally.remove(Self.time(0))
    #expect(tally.earliest == Self.time(120_000))
    tally.remove(Self.time(300_000))
    tally.remove(Self.time(120_000))
    #expect(tally == TimeTally())
  }

  @Test(
    "however many come in any order and go, the earliest is at most a minute early, or long ago",
    arguments: 1...20 as ClosedRange<UInt64>)
  func many(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var tally = TimeTally()
    var times: [Int64] = []
    var now: Int64 = 0
    for _ in 0..<3000 {
      now += Int64.random(in: 0...5000, using: &random)
      if Int.random(in: 0..<5, using: &random) < 3 {
        times.append(now - Int64.random(in: 0...2000, using: &random))
        tally.insert(Self.time(times[times.count - 1]))
      } else if !times.isEmpty {
        // Mostly the oldest go first, as they do once a gap is closed.
        times.sort()
        let place = min(times.count - 1, Int.random(in: 0..<4, using: &random))
        tally.remove(Self.time(times.remove(at: place)))
      }
      #expect(tally.count == times.count)
      let (earliest, told) = (times.min(), tally.earliest)
      #expect((earliest == nil) == (told == nil))
      guard let earliest, let told else { continue }
      let earlyMs = Self.time(earliest).milliseconds(since: told)
      #expect(earlyMs >= 0)
      #expect(earlyMs < 62_000 || (times.max() ?? 0) - earliest >= 900_000)
    }
  }

  @Test("tallies put together are one of all")
  func together() {
    var whole = TimeTally()
    var parts = [TimeTally(), TimeTally(), TimeTally()]
    for ms in 0..<2000 as Range<Int64> {
      let time = Self.time(ms * 37_003 % 600_000)
      whole.insert(time)
      parts[Int(ms % 3)].insert(time)
    }
    var sum = TimeTally()
    for part in parts { sum.add(part) }
    #expect(sum.count == whole.count && sum.earliest == whole.earliest)
    for ms in 0..<2000 as Range<Int64> { sum.remove(Self.time(ms * 37_003 % 600_000)) }
    #expect(sum == TimeTally())
  }
}
