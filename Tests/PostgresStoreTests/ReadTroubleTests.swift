#if PostgreSQL
import RelayCore
import Testing

@testable import PostgresStore

@Suite("Reads that fail")
struct ReadTroubleTests {
  private static let error = StoreError(
    kind: .inputOutput, operation: "connect to", subject: "it", detail: "no more")
  private static let keptMs = ReadTrouble.keptMs

  private func at(_ ms: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).adding(milliseconds: ms)
  }

  @Test("one alone is no trouble, and a second one soon after is, for a minute")
  func repeated() {
    var trouble = ReadTrouble()
    trouble.note(Self.error, at: at(0))
    #expect(trouble.error(at: at(1)) == nil)
    trouble.note(Self.error, at: at(Self.keptMs - 1))
    #expect(trouble.error(at: at(Self.keptMs)) == Self.error)
    #expect(trouble.error(at: at(2 * Self.keptMs - 2)) != nil)
    #expect(trouble.error(at: at(2 * Self.keptMs - 1)) == nil)
  }

  @Test("those of a database that is away, or has just come back, are none of their own")
  func away() {
    var trouble = ReadTrouble()
    for ms in 0..<3 as Range<Int64> { trouble.note(Self.error, at: at(ms)) }
    trouble.forget(at: at(3))
    for ms in [4, 5, ReadTrouble.graceMs] { trouble.note(Self.error, at: at(ms)) }
    #expect(trouble.error(at: at(ReadTrouble.graceMs)) == nil)
    for ms in 3...4 as ClosedRange<Int64> {
      trouble.note(Self.error, at: at(ReadTrouble.graceMs + ms))
    }
    #expect(trouble.error(at: at(ReadTrouble.graceMs + 4)) != nil)
  }

  @Test("two that are far from each other are no trouble")
  func apart() {
    var trouble = ReadTrouble()
    for minute in 0..<3 {
      let time = Int64(minute) * Self.keptMs
      trouble.note(Self.error, at: at(time))
      #expect(trouble.error(at: at(time)) == nil)
    }
  }
}
#endif
