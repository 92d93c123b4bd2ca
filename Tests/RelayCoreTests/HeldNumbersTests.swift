import RelayCore
import Testing

@Suite("What is lacking of some sequence numbers")
struct HeldNumbersTests {
  private func range(_ first: Int64, _ last: Int64) -> SequenceRange {
    SequenceRange(first: first, last: last)
  }

  private func missing(_ ranges: SequenceRange..., hasMore: Bool = false) -> MissingNumbers {
    MissingNumbers(ranges: ranges, hasMore: hasMore)
  }

  @Test("of a lane that is new everything is lacking")
  func new() {
    #expect(HeldNumbers.none.lacking(of: range(3, 9)) == [range(3, 9)])
  }

  @Test("what is held is not asked for again, what is missing and what is above is")
  func gaps() {
    let held = HeldNumbers(highest: 9, missing: missing(range(3, 4), range(7, 8)))
    #expect(held.lacking(of: range(1, 2)) == [])
    #expect(held.lacking(of: range(4, 7)) == [range(4, 4), range(7, 7)])
    #expect(held.lacking(of: range(1, 12)) == [range(3, 4), range(7, 8), range(10, 12)])
    #expect(held.lacking(of: range(9, 9)) == [])
    #expect(held.lacking(of: range(10, 10)) == [range(10, 10)])
  }

  @Test("numbers that are not named as missing wait until the lower ones have come")
  func more() {
    let held = HeldNumbers(highest: 90, missing: missing(range(3, 3), hasMore: true))
    #expect(held.lacking(of: range(1, 91)) == [range(3, 3), range(91, 91)])
  }

  @Test("the highest number of all has none above it")
  func highest() {
    #expect(HeldNumbers(highest: .max, missing: .none).lacking(of: range(1, .max)) == [])
  }
}
