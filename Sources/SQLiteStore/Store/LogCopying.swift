/// Decides when the write-ahead log is copied into the database, and by whom.
///
/// A pure value of the writer's, told of its commits and of what came of copying. Past a size the
/// thread of checkpoints copies, while commits go on. What was appended meanwhile, if it is little,
/// is copied by the writer between two transactions; the next commit then starts the log over.
///
/// A checkpoint must not begin at the moment at which a commit starts the log over: SQLite before
/// 3.51.3 then takes pages for copied that are not, and loses commits
/// (<https://www.sqlite.org/wal.html#walresetbug>). A commit starts the log over only if all of it
/// has been copied. So the thread is asked only while something has not been, which it alone could
/// change; and the writer copies only while the thread does not. `docs/decisions/0056` says more.
struct LogCopying: Equatable {
  /// What follows a pass of the thread.
  enum Next: Equatable {
    /// Another one, since much was appended meanwhile.
    case pass
    /// The writer copies the rest.
    case finish
  }

  /// The most passes in a row.
  static let passesMax = 3
  /// The number of pages that the writer copies while everybody waits.
  static let restPagesMax: Int64 = 64

  /// The number of pages in the log, told by SQLite at each commit; 0 if none came since a pass was
  /// asked for.
  private var pages: Int64 = 0
  /// The number of pages that are being copied, or could not be.
  private var pagesHeld: Int64 = 0
  /// Whether something was committed since all of the log was copied.
  private var hasUncopied = false
  /// The number of passes that were asked for; 0 while the thread has nothing to do.
  private var passCount = 0
  /// What tells the log of the first of these passes from one that was started over.
  private var generation: UInt64?

  /// The number of pages of the log that are not known to have been copied.
  var uncopiedPages: Int64 { max(pages, pagesHeld) }

  /// Whether the thread copies, or is about to.
  var isThreadBusy: Bool { passCount > 0 }

  /// Notes a commit, after which the log has so many pages.
  mutating func committed(pages: Int64) {
    self.pages = pages
    hasUncopied = true
  }

  /// Whether the thread is to be asked for a pass now, as the log has more than `pagesMax` pages.
  ///
  /// - Parameter generation: The log's generation now; nil if it cannot be told.
  mutating func beginPass(pagesMax: Int64, generation: @autoclosure () -> UInt64?) -> Bool {
    guard !isThreadBusy, hasUncopied, pages > pagesMax else { return false }
    passCount = 1
    self.generation = generation()
    pagesHeld = max(pagesHeld, pages)
    pages = 0
    return true
  }

  /// The thread's pass has ended.
  ///
  /// - Parameters:
  ///   - through: The number of pages that the log had when the pass began.
  ///   - generation: The log's generation now.
  mutating func passEnded(through copied: Int64, generation: UInt64?) -> Next {
    // There is more of the same log than was copied, so it cannot start over before the pass ends.
    let isSame = generation != nil && generation == self.generation
    guard isSame, pages > copied + Self.restPagesMax, passCount < Self.passesMax else {
      passCount = 0
      return .finish
    }
    passCount += 1
    return .pass
  }

  /// The writer has copied.
  ///
  /// - Parameters:
  ///   - pages: The number of pages in the log.
  ///   - isComplete: Whether all of them have been copied.
  mutating func finished(pages: Int64, isComplete: Bool) {
    guard isComplete else {
      pagesHeld = max(pagesHeld, pages)
      return
    }
    self = LogCopying()
  }
}
