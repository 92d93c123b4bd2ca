@testable import RelayCore
import Testing

@Suite("Sequence numbers that have not come")
struct SequenceNumbersTests {
  private let missing = MissingNumbers(
    ranges: [SequenceRange(first: 1, last: 2), SequenceRange(first: 5, last: 6)], hasMore: true)

  @Test("what stands before a number is named, and more only if all that is named stands there")
  func before() {
    #expect(missing.before(1) == .none)
    #expect(
      missing.before(5)
        == MissingNumbers(ranges: [SequenceRange(first: 1, last: 2)], hasMore: false))
    #expect(missing.before(7) == missing)
  }
}
