import RelayCore
import Testing

@testable import SQLiteStore

@Suite("SQLite store: when the log is copied")
struct LogCopyingTests {
  private static let pagesMax: Int64 = 100

  /// Whether a pass begins.
  private func begins(_ log: inout LogCopying, generation: UInt64? = 1) -> Bool {
    log.beginPass(pagesMax: Self.pagesMax, generation: generation)
  }

  /// A log over which a pass is under way.
  private func passing(pages: Int64 = 200) -> LogCopying {
    var log = LogCopying()
    log.committed(pages: pages)
    _ = begins(&log)
    return log
  }

  @Test("a pass begins once the log is long, and no second one beside it")
  func begin() {
    var log = LogCopying()
    log.committed(pages: 100)
    let isShort = begins(&log)
    log.committed(pages: 101)
    let isLong = begins(&log)
    log.committed(pages: 300)
    let isSecond = begins(&log)
    #expect(!isShort && isLong && !isSecond && log.isThreadBusy)
  }

  @Test("no pass begins over a log of which all has been copied, until the next commit")
  func allCopied() {
    var log = passing()
    log.committed(pages: 210)
    let next = log.passEnded(through: 200, generation: 1)
    #expect(next == .finish)
    log.finished(pages: 210, isComplete: true)
    let isTooEarly = begins(&log)
    #expect(!isTooEarly && log.uncopiedPages == 0)
    // A reader kept the log from starting over: it goes on.
    log.committed(pages: 215)
    let isDue = begins(&log)
    #expect(isDue)
  }

  @Test("another pass follows while much of the same log is left, but not for ever")
  func more() {
    var log = passing()
    var copied: Int64 = 200
    for _ in 2...LogCopying.passesMax {
      log.committed(pages: copied + 1000)
      let next = log.passEnded(through: copied, generation: 1)
      #expect(next == .pass && log.isThreadBusy)
      copied += 1000
    }
    log.committed(pages: copied + 1000)
    let last = log.passEnded(through: copied, generation: 1)
    #expect(last == .finish && !log.isThreadBusy)
  }

  @Test("no other pass follows over a log that may have been started over", arguments: [2, nil])
  func startedOver(generation: UInt64?) {
    var log = passing()
    // More pages than were copied, but of another log.
    log.committed(pages: 1000)
    let next = log.passEnded(through: 200, generation: generation)
    #expect(next == .finish)
  }

  @Test("no other pass follows if nothing was appended meanwhile")
  func nothingAppended() {
    var log = passing()
    let next = log.passEnded(through: 200, generation: 1)
    #expect(next == .finish)
  }

  @Test("what could not be copied counts as long as it cannot be")
  func held() {
    var log = passing()
    #expect(log.uncopiedPages == 200)
    _ = log.passEnded(through: 200, generation: 1)
    log.finished(pages: 250, isComplete: false)
    log.committed(pages: 240)
    #expect(log.uncopiedPages == 250)
    log.finished(pages: 250, isComplete: true)
    #expect(log.uncopiedPages == 0)
  }
}
