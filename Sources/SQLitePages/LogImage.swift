/// The content of a write-ahead log (<https://www.sqlite.org/fileformat.html#walformat>), also
/// behind a damaged frame, where SQLite does not look any more.
package struct LogImage {
  /// The offset in the log of each page's latest committed content.
  package private(set) var places: [Int: Int64] = [:]
  /// The number of pages of the database after the last commit; nil if the log has no commit.
  package private(set) var pageCount: Int?
  /// The size of a page; nil if the log has no header.
  package private(set) var pageBytes: Int?
  /// The number of damaged frames with whole ones behind them.
  package private(set) var damagedFrames = 0
  /// The number of commits behind a damaged frame, or header, which SQLite would drop.
  package private(set) var commitsBehindDamage = 0

  /// Whether it is certain that acknowledged commits are behind damage.
  ///
  /// A commit behind a damaged frame may also be a try that failed, or was cut off by a power cut.
  /// Each such try began where the last good commit had ended, and the next write there has covered
  /// only the beginning of it. Several tries, each shorter than the one before, leave several ends,
  /// so their number says nothing. But only so many of them were ever built upon: a frame that
  /// continues from a commit was written while fewer than ``DatabaseForm/unsyncedCommitsMax``
  /// commits before it were not synced yet; all older ones were.
  ///
  /// A header is on the disk before the first frame behind it. So one that does not belong to the
  /// frames is damage, whatever their number, unless all of them were copied already.
  /// `docs/decisions/0023-damaged-stores.md` says more.
  package private(set) var isDamaged = false

  /// Whether the header does not belong to the frames, of which SQLite would take none.
  private var isHeaderLost = false
  /// Whether the first frames are lost as well, so that nobody knows whether they were copied.
  package private(set) var isFrontLost = false
  private var unsyncedCommitsMax = 0

  /// Makes an empty log.
  package init() {}

  /// Reads a log.
  ///
  /// - Parameters:
  ///   - index: The log's index, by which a killed process knew the log's length.
  ///   - assumed: The size of a page, if the header does not say it.
  package init(
    _ file: ReadOnlyFile, index: ReadOnlyFile?, form: DatabaseForm, pageBytes assumed: Int
  ) {
    unsyncedCommitsMax = form.unsyncedCommitsMax
    guard let header = LogHeader(of: file) else { return }
    let pageBytes = header.isSound ? header.pageBytes : assumed
    self.pageBytes = pageBytes
    let frames = LogFrames(of: file, behind: header, pageBytes: pageBytes)
    isHeaderLost = !header.isSound || frames.hasLater(than: header.round)
    isFrontLost = isHeaderLost && !frames.hasFront
    let round = isFrontLost ? frames.firstRound : isHeaderLost ? frames[0].round : header.round
    if let round {
      readFrames(frames, of: round, known: LogIndex(index)?.frames(of: round) ?? 0)
    }
    guard isHeaderLost else { return }
    // The header counts as one.
    damagedFrames += 1
    isDamaged = frames.areWritten
    isFrontLost = isFrontLost && isDamaged
  }

  /// Whether the header is damaged, and all that stands behind it is in the database as well.
  ///
  /// So it is where a power cut has torn the header while the log started over, which it does once
  /// all of it was copied. SQLite passes such a log over, and nothing is lost by that.
  func isSuperfluous(_ log: ReadOnlyFile, beside file: ReadOnlyFile) -> Bool {
    // Commits behind a damaged frame may not have been copied.
    guard isHeaderLost, !isFrontLost, damagedFrames == 1, pageCount != nil, let pageBytes else {
      return false
    }
    return places.allSatisfy { page, place in
      page > pageCount ?? .max
        || log.read(pageBytes, at: place)
          == file.read(pageBytes, at: Int64(page - 1) * Int64(pageBytes))
    }
  }

  /// The state of reading on where SQLite would stop.
  private struct Walk {
    /// Frames that belong to no complete commit yet.
    var pending: [Int: Int64] = [:]
    /// Complete commits behind damage that may be the rest of failed tries.
    var doubtful: [Int: Int64] = [:]
    var doubtfulPageCount: Int?
    /// The number of whole commits behind damage, each of which continues from the one before, and
    /// which this frame continues from.
    var chainedCommits = 0
    /// Whether the commits before this frame, which it continues from, are accepted though they are
    /// behind damage.
    var isBelieved = false
    /// Damaged frames since the last whole commit.
    var damagedNow = 0
    /// Commits behind damage of which the index knows.
    var knownCommits = 0
  }

  /// - Parameter known: The number of frames that the index of this very log knows of.
  private mutating func readFrames(_ frames: LogFrames, of round: LogRound, known: Int) {
    var walk = Walk()
    // To the end of the file: what is damaged may be large, and hide what was acknowledged.
    for number in frames.indices {
      let frame = frames[number]
      // What the first frame continues from is lost with the header.
      let isSound =
        frame.round == round && frame.page > 0
        && (isHeaderLost && !isFrontLost && number == 0 || frames.isSound(number))
      guard isSound else {
        walk.damagedNow += 1
        walk.chainedCommits = 0
        walk.isBelieved = false
        continue
      }
      take(frame, at: frames.place(of: number), &walk)
      if frame.pageCount > 0, damagedFrames > 0, number < known { walk.knownCommits += 1 }
    }
    // Of more commits in the index than may be unsynced, the first was synced.
    if isFrontLost || walk.knownCommits > unsyncedCommitsMax { believe(&walk) }
  }

  private mutating func take(_ frame: LogFrame, at place: Int64, _ walk: inout Walk) {
    if walk.chainedCommits >= unsyncedCommitsMax { believe(&walk) }
    walk.pending[frame.page] = place
    guard frame.pageCount > 0 else { return }
    damagedFrames += walk.damagedNow
    walk.damagedNow = 0
    if damagedFrames > 0 || isHeaderLost { commitsBehindDamage += 1 }
    if damagedFrames > 0 {
      walk.chainedCommits += 1
      walk.doubtful.merge(walk.pending) { _, new in new }
      walk.doubtfulPageCount = frame.pageCount
      // What continues from commits that were synced is the log's true end, as SQLite takes it.
      if walk.isBelieved { believe(&walk) }
    } else {
      places.merge(walk.pending) { _, new in new }
      pageCount = frame.pageCount
    }
    walk.pending = [:]
  }

  /// Accepts all commits so far as synced.
  private mutating func believe(_ walk: inout Walk) {
    isDamaged = true
    walk.isBelieved = true
    places.merge(walk.doubtful) { _, new in new }
    pageCount = walk.doubtfulPageCount ?? pageCount
    walk.doubtful = [:]
  }
}
