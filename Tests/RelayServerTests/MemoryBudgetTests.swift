import RelayServer
import Testing

@Suite("The memory that requests share")
struct MemoryBudgetTests {
  private static let small = MemoryBudget.smallRequestBytesMax

  @Test("large requests leave the last quarter to small ones")
  func largeRequestsLeaveAQuarter() {
    let budget = MemoryBudget(bytesMax: 8 * Self.small)
    #expect(budget.reserve(6 * Self.small))
    #expect(!budget.reserve(Self.small + 1))
    #expect(budget.reserve(Self.small))
    #expect(budget.reserve(Self.small))
    #expect(!budget.reserve(1))
  }

  @Test("a request that grows counts as large once it is")
  func aGrowingRequestBecomesLarge() {
    let budget = MemoryBudget(bytesMax: 8 * Self.small)
    #expect(budget.reserve(6 * Self.small))
    #expect(budget.reserve(Self.small, besides: 0))
    #expect(!budget.reserve(1, besides: Self.small))
  }

  @Test("a refused reservation takes nothing, and what is put back can be taken again")
  func refusalTakesNothing() {
    let budget = MemoryBudget(bytesMax: 1000)
    #expect(!budget.reserve(1001))
    #expect(budget.bytesLeft == 1000)
    #expect(budget.reserve(1000))
    budget.release(1000)
    #expect(budget.bytesLeft == 1000)
  }
}
