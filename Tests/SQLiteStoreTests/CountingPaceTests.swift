#if PostgreSQL
import Testing

@testable import PostgresStore

@Suite("how much of a line is counted in one step")
struct CountingPaceTests {
  @Test("steps grow while they are short, and shrink once one is long, within their bounds")
  func steps() {
    var pace = CountingPace(step: 100, in: 50...400)
    func steps(_ durationMs: Int64, _ count: Int) -> [Int] {
      (0..<count).map { _ in
        pace.note(durationMs: durationMs)
        return pace.step
      }
    }
    #expect(steps(10, 3) == [200, 400, 400])
    #expect(steps(500, 2) == [400, 400])
    #expect(steps(5000, 4) == [200, 100, 50, 50])
  }
}
#endif
