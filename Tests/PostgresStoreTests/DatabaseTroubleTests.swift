#if PostgreSQL
import RelayCore
import Testing

@testable import PostgresStore

@Suite("What is known of trouble with the database")
struct DatabaseTroubleTests {
  private let limits = DatabaseLimits()
  private var trouble = DatabaseTrouble(DatabaseLimits())
  private let begin = MonotonicTime(nanoseconds: 0)

  private func after(_ milliseconds: Int64) -> MonotonicTime {
    begin.adding(milliseconds: milliseconds)
  }

  @Test("it is looked for after a second, and no more once something is written")
  mutating func look() {
    #expect(trouble.looksAt == nil && !trouble.isLookDue(at: after(10_000)))
    trouble.note(.inputOutput, at: begin)
    #expect(!trouble.isLookDue(at: after(999)) && trouble.isLookDue(at: after(1000)))
    trouble.noteWritten(isOfEnvelopes: true)
    #expect(trouble.looksAt == nil)
  }

  @Test("looks that succeed come later and later while posts are refused, and soon again after one")
  mutating func refused() {
    var pauses: [Int64] = []
    for _ in 1...7 {
      trouble.note(.diskFull, at: begin)
      pauses.append(trouble.looksAt?.milliseconds(since: begin) ?? 0)
      trouble.noteLook()
      #expect(trouble.looksAt == nil)
    }
    #expect(pauses == [1000, 2000, 4000, 8000, 16_000, 16_000, 16_000])
    trouble.noteWritten(isOfEnvelopes: true)
    trouble.note(.diskFull, at: begin)
    #expect(trouble.looksAt == after(1000))
  }

  @Test("what is no envelope ends the trouble of a lost connection, and not of refused posts")
  mutating func others() {
    trouble.note(.other, at: begin)
    trouble.noteWritten(isOfEnvelopes: false)
    #expect(trouble.looksAt == after(1000))
    trouble.noteWritten(isOfEnvelopes: true)
    #expect(trouble.looksAt == nil)
    trouble.note(.inputOutput, at: begin)
    trouble.lose(at: begin)
    trouble.noteWritten(isOfEnvelopes: false)
    #expect(trouble.looksAt == nil && !trouble.isLost)
  }

  @Test("a connection that is lost again and again is looked for each second")
  mutating func lostAgain() {
    for _ in 1...3 {
      trouble.note(.inputOutput, at: begin)
      #expect(trouble.looksAt == after(1000))
      trouble.noteLook()
    }
  }

  @Test("nobody looks for a store that another relay has, whatever was due before")
  mutating func taken() {
    trouble.note(.inputOutput, at: begin)
    trouble.noteTaken()
    #expect(trouble.looksAt == nil)
    trouble.note(.leaseLost, at: after(1))
    #expect(trouble.looksAt == nil && !trouble.isLookDue(at: after(100_000)))
  }

  @Test("a database that has been away for two seconds is waited for no longer, until it is back")
  mutating func lost() {
    #expect(trouble.isWorthWaiting(at: begin) && !trouble.isLost)
    trouble.lose(at: begin)
    trouble.lose(at: after(1500))
    #expect(trouble.isLost && trouble.isWorthWaiting(at: after(limits.lossBorneMs - 1)))
    #expect(!trouble.isWorthWaiting(at: after(limits.lossBorneMs)))
    trouble.noteLook()
    #expect(!trouble.isLost && trouble.isWorthWaiting(at: after(limits.lossBorneMs)))
  }
}
#endif
