import Testing

@testable import RelayCore

@Suite("What refusals say about a client")
struct ClientBlameTests {
  private static let limited = ClientNumber(rawValue: 1)
  private static let other = ClientNumber(rawValue: 2)

  private static func at(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).adding(milliseconds: milliseconds)
  }

  private static func refuse(
    _ blame: inout ClientBlame, _ client: ClientNumber = limited, isSlow: Bool = false,
    at time: Int64
  ) -> ClientBlame.Verdict {
    blame.refused(
      [client], beganAt: at(time - 1), waitMs: 1000, learned: nil, isSlow: isSlow, at: at(time))
  }

  /// A client that is known to be limited for itself.
  private static func blamed() -> ClientBlame {
    var blame = ClientBlame()
    _ = refuse(&blame, at: 0)
    for time in 1...10 as ClosedRange<Int64> {
      blame.taken(from: [other], beganAt: at(time * 10))
    }
    _ = refuse(&blame, at: 200)
    return blame
  }

  @Test(
    "a client that is refused far more often than others are taken remains known",
    arguments: [100, 200, 1000] as [Int64])
  func often(othersMs: Int64) {
    var blame = Self.blamed()
    #expect(blame.isOwn(Self.limited, at: Self.at(200)))
    var ofUpstream = 0
    for time in 3...600 as ClosedRange<Int64> {
      if time * 100 % othersMs == 0 {
        blame.taken(from: [Self.other], beganAt: Self.at(time * 100 - 50))
      }
      if Self.refuse(&blame, at: time * 100) == .ofUpstream { ofUpstream += 1 }
    }
    #expect(ofUpstream == 0)
  }

  @Test("it is known no more once others are refused as well")
  func others() {
    var blame = Self.blamed()
    for round in 1...6 as ClosedRange<Int64> {
      let time = 300 + round * 100
      if round > 1 { blame.taken(from: [Self.other], beganAt: Self.at(time)) }
      _ = Self.refuse(&blame, Self.other, at: time + 10)
      _ = Self.refuse(&blame, at: time + 50)
    }
    #expect(!blame.isOwn(Self.limited, at: Self.at(1000)))
  }

  @Test("it is known no more after many refusals without anybody else who is taken")
  func alone() {
    var blame = Self.blamed()
    for time in 1...300 as ClosedRange<Int64> { _ = Self.refuse(&blame, at: 300 + time * 10) }
    #expect(!blame.isOwn(Self.limited, at: Self.at(3300)))
    #expect(Self.refuse(&blame, at: 3400) == .ofUpstream)
  }

  @Test("one that is mostly taken is known once it alone is refused below a rate taken before")
  func slow() {
    for isSlow in [true, false] {
      var blame = ClientBlame()
      for round in 0...3 as ClosedRange<Int64> {
        let time = 1 + round * 1000
        _ = Self.refuse(&blame, isSlow: isSlow && round > 0, at: time)
        for step in 1...50 as ClosedRange<Int64> {
          blame.taken(from: [Self.limited], beganAt: Self.at(time + step * 10))
        }
        for step in 1...3 as ClosedRange<Int64> {
          blame.taken(from: [Self.other], beganAt: Self.at(time + step * 10))
        }
      }
      #expect(blame.isOwn(Self.limited, at: Self.at(4000)) == isSlow)
    }
  }

  @Test("clients that are hardly ever taken do not speak for each other")
  func several() {
    var blame = ClientBlame()
    for round in 0...1 as ClosedRange<Int64> {
      for number in 10...20 as ClosedRange<Int64> {
        let time = 1 + round * 1000 + number * 10
        _ = Self.refuse(&blame, ClientNumber(rawValue: number), at: time)
        blame.taken(from: [Self.other], beganAt: Self.at(time + 5))
      }
    }
    let known = (10...20 as ClosedRange<Int64>).count {
      blame.isOwn(ClientNumber(rawValue: $0), at: Self.at(1300))
    }
    #expect(known == 11)
  }
}
