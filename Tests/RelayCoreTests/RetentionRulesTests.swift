import RelayCore
import Testing

@Suite("What is forgotten of ended envelopes")
struct RetentionRulesTests {
  private static let cutoffs = RetentionCutoffs(
    delivered: WallTime(millisecondsSinceEpoch: 2000),
    failed: WallTime(millisecondsSinceEpoch: 1000), keys: WallTime(millisecondsSinceEpoch: 500))

  @Test(
    "an end is kept until its kind's time has passed, that very moment included",
    arguments: [
      (.delivered, 1999, true), (.delivered, 2000, false), (.failed, 999, true),
      (.failed, 1000, false), (.expired, 999, true), (.expired, 1999, false),
      (.cancelled, 999, true), (.cancelled, 1999, false),
    ] as [(EnvelopeState, Int64, Bool)])
  func due(state: EnvelopeState, endedAt: Int64, isDue: Bool) {
    let time = WallTime(millisecondsSinceEpoch: endedAt)
    #expect(RetentionRules.isDue(state, endedAt: time, Self.cutoffs) == isDue)
  }

  @Test(
    "keys outlive an envelope that ended after their time, that very moment included",
    arguments: [(499, false), (500, true), (1999, true)] as [(Int64, Bool)])
  func keys(endedAt: Int64, areRemembered: Bool) {
    let time = WallTime(millisecondsSinceEpoch: endedAt)
    #expect(RetentionRules.remembersKeys(.delivered, endedAt: time, Self.cutoffs) == areRemembered)
    #expect(!RetentionRules.remembersKeys(.failed, endedAt: time, Self.cutoffs))
    let none = RetentionCutoffs(delivered: time, failed: time)
    #expect(!RetentionRules.remembersKeys(.delivered, endedAt: time, none))
  }

  @Test(
    "a number goes with its envelope, unless the lane has not come to it yet",
    arguments: [(4, nil, true), (4, 5, true), (5, 5, true), (6, 5, false)]
      as [(Int64, Int64?, Bool)])
  func number(number: Int64, placedThrough: Int64?, isForgotten: Bool) {
    let forgets = RetentionRules.forgetsNumber(number, placedThrough: placedThrough)
    #expect(forgets == isForgotten)
  }
}
