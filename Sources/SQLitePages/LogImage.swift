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
  /// The number of commits behind a damaged frame, which SQLite would drop.
  package private(set) var commitsBehindDamage = 0

  /// Whether it is certain that acknowledged commits are behind a damaged frame.
  ///
  /// A commit behind one may also be a try that failed, or was cut off by a power cut. Each such
  /// try began where the last good commit had ended, and the next write there has covered only the
  /// beginning of it. Several tries, each shorter than the one before, leave several ends, so their
  /// number says nothing. But only so many of them were ever built upon: a frame that continues
  /// from a commit was written while fewer than ``DatabaseForm/unsyncedCommitsMax`` commits before
  /// it were not synced yet; all older ones were.
  /// `docs/decisions/0023-damaged-stores.md` says more.
  package private(set) var isDamaged = false

  /// Whether the header is not what was written.
  private var isHeaderDamaged = false

  private static let headerBytes = 32
  private static let frameHeaderBytes = 24
  /// Where the first frame has the salts that the header has as well.
  private static let firstSaltsAt: Int64 = 40
  private var unsyncedCommitsMax = 0

  private struct Sums: Equatable {
    var first: UInt32
    var second: UInt32

    mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
      bytes.withUnsafeBytes { buffer in
        var place = 0
        while place + 8 <= buffer.count {
          let one = buffer.loadUnaligned(fromByteOffset: place, as: UInt32.self)
          let two = buffer.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
          first =
            first &+ (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one))
            &+ second
          second =
            second &+ (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two))
            &+ first
          place += 8
        }
      }
    }
  }

  /// Makes an empty log.
  package init() {}

  /// Reads a log.
  ///
  /// A header that is damaged itself counts as a damaged frame: the frames say what it has said.
  ///
  /// - Parameters:
  ///   - index: The log's index, by which a killed process knew the log's length.
  ///   - assumed: The size of a page, if the header does not say it.
  package init(
    _ file: ReadOnlyFile, index: ReadOnlyFile?, form: DatabaseForm, pageBytes assumed: Int
  ) {
    unsyncedCommitsMax = form.unsyncedCommitsMax
    let header = file.read(Self.headerBytes, at: 0)
    guard header.count == Self.headerBytes else { return }
    var sums = Sums(first: 0, second: 0)
    sums.add(header[0..<24], isBigEndian: header[3] & 1 == 1)
    let written = Sums(
      first: UInt32(header.number32(at: 24)), second: UInt32(header.number32(at: 28)))
    let isSound =
      sums == written && header.number32(at: 0) >> 1 == 0x377f_0682 >> 1
      && DatabaseImage.isPageSize(header.number32(at: 8))
    isHeaderDamaged = !isSound
    pageBytes = isSound ? header.number32(at: 8) : assumed
    let salts = isSound ? header[16..<24] : file.read(8, at: Self.firstSaltsAt)[...]
    var walk = Walk(sums: written)
    walk.damagedNow = isSound ? 0 : 1
    readFrames(
      file, salts: salts, &walk,
      // SQLite writes the sums in the order of the machine that it runs on.
      isBigEndian: isSound ? header[3] & 1 == 1 : 1.bigEndian == 1,
      knownFrames: Self.knownFrames(index, salts: salts))
  }

  /// Whether the header is damaged, and all that stands behind it is in the database as well.
  ///
  /// So it is where a power cut has torn the header while the log started over, which it does once
  /// all of it was copied. SQLite passes such a log over, and nothing is lost by that.
  func isSuperfluous(_ log: ReadOnlyFile, beside file: ReadOnlyFile) -> Bool {
    guard isHeaderDamaged, commitsBehindDamage > 0, let pageBytes else { return false }
    var places = places
    // The sums of the first frame continue from the header's, so it may have counted as damaged.
    let first = log.read(Self.frameHeaderBytes, at: Int64(Self.headerBytes))
    let firstPlace = Int64(Self.headerBytes + Self.frameHeaderBytes)
    places.merge([first.number32(at: 0): firstPlace]) { known, _ in known }
    return places.allSatisfy { page, place in
      page > pageCount ?? .max
        || log.read(pageBytes, at: place)
          == file.read(pageBytes, at: Int64(page - 1) * Int64(pageBytes))
    }
  }

  /// The number of frames in the index of this very log; nil if it has none.
  ///
  /// Frames behind a damaged one may also be the rest of failed commits, of which none was
  /// acknowledged. The index tells them apart, since it learns of a commit once that was synced
  /// (<https://www.sqlite.org/walformat.html>).
  private static func knownFrames(_ index: ReadOnlyFile?, salts: ArraySlice<UInt8>) -> Int? {
    guard let header = index?.read(40, at: 0), header.count == 40, header[12] == 1,
      header[32..<40] == salts
    else { return nil }
    // In this machine's byte order.
    return Int(header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: UInt32.self) })
  }

  /// The state of reading on where SQLite would stop.
  private struct Walk {
    var sums: Sums
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
  }

  private mutating func readFrames(
    _ file: ReadOnlyFile, salts: ArraySlice<UInt8>, _ walk: inout Walk, isBigEndian: Bool,
    knownFrames: Int?
  ) {
    guard let pageBytes else { return }
    let frameBytes = Self.frameHeaderBytes + pageBytes
    var place = Int64(Self.headerBytes)
    // Once nothing fits together any more, frames of an earlier round follow, or of no round.
    while walk.damagedNow <= Self.damageMax {
      let frame = file.read(frameBytes, at: place)
      let number = Int(place - Int64(Self.headerBytes)) / frameBytes + 1
      let isKnown = damagedFrames + walk.damagedNow == 0 || number <= knownFrames ?? .max
      guard frame.count == frameBytes, isKnown else { break }
      walk.sums.add(frame[0..<8], isBigEndian: isBigEndian)
      walk.sums.add(frame[Self.frameHeaderBytes...], isBigEndian: isBigEndian)
      let written = Sums(
        first: UInt32(frame.number32(at: 16)), second: UInt32(frame.number32(at: 20)))
      if frame[8..<16] == salts, walk.sums == written, frame.number32(at: 0) > 0 {
        take(frame, at: place, &walk)
      } else {
        walk.damagedNow += 1
        walk.chainedCommits = 0
        walk.isBelieved = false
      }
      // Each frame continues from the sums that the one before has stored.
      walk.sums = written
      place += Int64(frameBytes)
    }
    // Of more commits in the index than may be unsynced, the first was synced.
    if knownFrames != nil, commitsBehindDamage > unsyncedCommitsMax { believe(&walk) }
  }

  private mutating func take(_ frame: [UInt8], at place: Int64, _ walk: inout Walk) {
    if walk.chainedCommits >= unsyncedCommitsMax { believe(&walk) }
    walk.pending[frame.number32(at: 0)] = place + Int64(Self.frameHeaderBytes)
    guard frame.number32(at: 4) > 0 else { return }
    damagedFrames += walk.damagedNow
    walk.damagedNow = 0
    if damagedFrames > 0 {
      commitsBehindDamage += 1
      walk.chainedCommits += 1
      walk.doubtful.merge(walk.pending) { _, new in new }
      walk.doubtfulPageCount = frame.number32(at: 4)
      // What continues from commits that were synced is the log's true end, as SQLite takes it.
      if walk.isBelieved { believe(&walk) }
    } else {
      places.merge(walk.pending) { _, new in new }
      pageCount = frame.number32(at: 4)
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

  /// The most damaged frames in a row that are passed over to find whole ones behind them.
  private static let damageMax = 64
}
