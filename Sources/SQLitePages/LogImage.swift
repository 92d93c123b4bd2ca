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
  ///
  /// The log's index may say more: what was copied of a log was synced before, and so were the
  /// headers of its rounds.
  /// `docs/decisions/0023-damaged-stores.md` says more.
  package private(set) var isDamaged = false

  /// Whether the header does not belong to the frames, of which SQLite would take none.
  private var isHeaderLost = false
  /// Whether the first frames are lost as well, so that nobody knows whether they were copied.
  package private(set) var isFrontLost = false
  /// The number of lost frames of which the index knows, and which are neither in the log nor in
  /// the database.
  package private(set) var missingFrames = 0
  /// The round that the log's header names, or its frames where that is lost; nil without any.
  private var found: LogRound?
  /// What SQLite takes of the log; nil if it takes nothing.
  private var taken: (round: LogRound, frames: Int)?
  /// What is there of the frames that are not in the database, as the index says.
  private var uncopied = (frames: 0, place: Int64.max)

  /// Makes an empty log.
  init() {}

  /// Reads a log.
  ///
  /// - Parameters:
  ///   - file: The log; nil if there is none.
  ///   - index: The log's index, by which a killed process knew the log's length.
  ///   - assumed: The size of a page, if the header does not say it.
  init(_ file: ReadOnlyFile?, index: LogIndex?, form: DatabaseForm, pageBytes assumed: Int) {
    if let file, let header = LogHeader(of: file) {
      readLog(file, header, index, form, pageBytes: assumed)
    }
    if form.indexTrust != .none, let index { compare(with: index, form) }
  }

  private mutating func readLog(
    _ file: ReadOnlyFile, _ header: LogHeader, _ index: LogIndex?, _ form: DatabaseForm,
    pageBytes assumed: Int
  ) {
    let pageBytes = header.isSound ? header.pageBytes : assumed
    self.pageBytes = pageBytes
    let frames = LogFrames(of: file, behind: header, pageBytes: pageBytes)
    isHeaderLost = !header.isSound || frames.hasLater(than: header.round)
    isFrontLost = isHeaderLost && !frames.hasFront
    let round = isFrontLost ? frames.firstRound : isHeaderLost ? frames[0].round : header.round
    found = round
    if let round { readFrames(frames, of: round, index, form) }
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
    guard isHeaderLost, !isFrontLost, damagedFrames == 1, missingFrames == 0, pageCount != nil,
      let pageBytes
    else { return false }
    return places.allSatisfy { page, place in
      page > pageCount ?? .max
        || log.read(pageBytes, at: place)
          == file.read(pageBytes, at: Int64(page - 1) * Int64(pageBytes))
    }
  }

  /// The state of reading on where SQLite would stop.
  private struct Walk {
    let unsyncedCommitsMax: Int
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

  private mutating func readFrames(
    _ frames: LogFrames, of round: LogRound, _ index: LogIndex?, _ form: DatabaseForm
  ) {
    var walk = Walk(unsyncedCommitsMax: form.unsyncedCommitsMax)
    let known = index?.round == round ? index : nil
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
      if let known, number < known.frameCount {
        if number >= known.copiedCount { uncopied.frames += 1 }
        if frame.pageCount > 0, damagedFrames > 0 { walk.knownCommits += 1 }
      }
      if frame.pageCount > 0, damagedFrames == 0, !isHeaderLost { taken = (round, number + 1) }
    }
    // Of more commits in the index than may be unsynced, the first was synced.
    let doubtfulMax = form.indexTrust == .proven ? 0 : form.unsyncedCommitsMax
    if isFrontLost || walk.knownCommits > doubtfulMax { believe(&walk) }
    if let known { uncopied.place = frames.place(of: known.copiedCount) }
  }

  /// Holds the log against its index.
  ///
  /// An index that a power cut or a snapshot has left is an old one: it names fewer frames, or
  /// those of an earlier round. It may name some that were not synced, and are gone. But a
  /// checkpoint syncs the log before it copies anything, and a round begins with a header that is
  /// synced. So a log that ends before what was copied, or is of an earlier round, is certainly not
  /// what it was.
  private mutating func compare(with index: LogIndex, _ form: DatabaseForm) {
    // A log that is about to start over has the frames of the round before: all were copied.
    guard index.frameCount > 0, found.map({ !$0.follows(index.round) }) ?? true else { return }
    let isWhole = taken.map { $0.round == index.round && $0.frames >= index.frameCount }
    guard !(isWhole ?? (index.copiedCount == index.frameCount)) else { return }
    let isCutBelowCopied = taken.map { taken in
      taken.round == index.round
        ? taken.frames < index.copiedCount : index.round.follows(taken.round)
    }
    guard form.indexTrust == .proven || isCutBelowCopied ?? false else { return }
    isDamaged = true
    missingFrames = index.frameCount - index.copiedCount - uncopied.frames
    // SQLite would lay the part that it takes over newer pages of the database.
    places = places.filter { $0.value >= uncopied.place }
    if places.isEmpty { pageCount = nil }
  }

  private mutating func take(_ frame: LogFrame, at place: Int64, _ walk: inout Walk) {
    if walk.chainedCommits >= walk.unsyncedCommitsMax { believe(&walk) }
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
