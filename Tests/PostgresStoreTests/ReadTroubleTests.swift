#if PostgreSQL
import RelayCore
import Testing

@testable import PostgresStore

@Suite("Reads that fail")
struct ReadTroubleTests {
  private static let error = StoreError(
    kind: .inputOutput, operation: "connect to", subject: "it", detail: "no more")
  private static let longMs = ReadTrouble.durationMsMin
  private static let keptMs = ReadTrouble.keptMs

  private func at(_ ms: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).adding(milliseconds: ms)
  }

  private func failed(at times: [Int64]) -> ReadTrouble {
    var trouble = ReadTrouble()
    for time in times { trouble.note(Self.error, at: at(time), isAway: false) }
    return trouble
  }

  @Test("many at one moment are no trouble, and some for ten seconds are, for a minute")
  func repeated() {
    #expect(failed(at: [0, 1, 2, Self.longMs - 1]).error(at: at(Self.longMs)) == nil)
    let trouble = failed(at: [0, Self.longMs])
    #expect(trouble.error(at: at(Self.longMs)) == Self.error)
    #expect(trouble.error(at: at(Self.longMs + Self.keptMs - 1)) != nil)
    #expect(trouble.error(at: at(Self.longMs + Self.keptMs)) == nil)
  }

  @Test("those that are far from each other are no trouble")
  func apart() {
    let times = (0..<3).map { $0 * Self.keptMs }
    #expect(failed(at: times).error(at: at(2 * Self.keptMs)) == nil)
  }

  @Test("those of a database that is away are none of their own, nor are those just before")
  func away() {
    var trouble = failed(at: [0, Self.longMs])
    trouble.note(Self.error, at: at(Self.longMs + 1), isAway: true)
    trouble.note(Self.error, at: at(Self.longMs + 2), isAway: false)
    #expect(trouble.error(at: at(Self.longMs + 2)) == nil)
  }
}
#endif
