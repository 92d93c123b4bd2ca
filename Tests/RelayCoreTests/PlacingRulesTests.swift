import RelayCore
import Testing

@Suite("What comes next in a lane in which something is parked")
struct PlacingRulesTests {
  private static let open = SequenceGap(SequenceRange(first: 3, last: 5))
  private static let skipped = SequenceGap(SequenceRange(first: 3, last: 5), isSkipped: true)

  @Test("the envelope that came with the next number moves", arguments: [nil, open, skipped])
  func moves(gap: SequenceGap?) {
    #expect(PlacingRules.step(serial: 8, gap: gap) == .move(8))
  }

  @Test("a missing number is waited for, whether or not its gap is known", arguments: [nil, open])
  func waits(gap: SequenceGap?) {
    #expect(PlacingRules.step(serial: nil, gap: gap) == .wait)
  }

  @Test("numbers that nobody waits for are passed, all of their gap at once")
  func passes() {
    #expect(PlacingRules.step(serial: nil, gap: Self.skipped) == .pass(through: 5))
  }
}
