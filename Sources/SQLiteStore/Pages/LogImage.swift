/// What a write-ahead log holds (<https://www.sqlite.org/fileformat.html#walformat>), also behind a
/// frame that is damaged, where SQLite would not look any more.
struct LogImage {
  /// Where in the log the latest committed content of each page is.
  private(set) var places: [Int: Int64] = [:]
  /// How many pages the database has after the last commit; nil if the log has no commit.
  private(set) var pageCount: Int?
  /// The size of a page; nil if the log has no header.
  private(set) var pageBytes: Int?
  /// How many frames are damaged though others behind them are whole.
  private(set) var damagedFrames = 0
  /// How many commits lie behind a damaged frame, so that SQLite would drop them.
  private(set) var commitsBehindDamage = 0

  /// Whether it is certain that commits which had been acknowledged lie behind a damaged frame.
  ///
  /// A commit behind one may also be what failed, or was cut off by the power: each such try began
  /// where the last good commit had ended, and what was written there next has covered only the
  /// beginning of it. Several tries, each shorter than the one before, leave several ends, so that
  /// how many there are says nothing. But none of them was ever built upon: a frame that goes on
  /// from a commit was written once that was synced, and so all before it was as well.
  /// `docs/decisions/0023-damaged-stores.md` says more.
  private(set) var isDamaged = false

  private static let headerBytes = 32
  private static let frameHeaderBytes = 24

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

  /// An empty log.
  init() {}

  /// Reads a log; of one without a header that makes sense nothing is known.
  ///
  /// - Parameter index: The log's index, by which a process that was killed knew how long it was.
  init(_ file: ReadOnlyFile, index: ReadOnlyFile?) {
    let header = file.read(Self.headerBytes, at: 0)
    guard header.count == Self.headerBytes, header.number32(at: 0) >> 1 == 0x377f_0682 >> 1,
      DatabaseImage.isPageSize(header.number32(at: 8))
    else { return }
    let isBigEndian = header[3] & 1 == 1
    var sums = Sums(first: 0, second: 0)
    sums.add(header[0..<24], isBigEndian: isBigEndian)
    let written = Sums(
      first: UInt32(header.number32(at: 24)), second: UInt32(header.number32(at: 28)))
    guard sums == written else { return }
    pageBytes = header.number32(at: 8)
    let salts = header[16..<24]
    readFrames(
      file, salts: salts, sums: sums, isBigEndian: isBigEndian,
      knownFrames: Self.knownFrames(index, salts: salts))
  }

  /// How many frames the index of this very log knows; nil if it knows none.
  ///
  /// Frames behind a damaged one may also be the rest of commits that failed, of which none was
  /// acknowledged; the index, which is told of a commit once that was synced, tells them apart
  /// (<https://www.sqlite.org/walformat.html>).
  private static func knownFrames(_ index: ReadOnlyFile?, salts: ArraySlice<UInt8>) -> Int? {
    guard let header = index?.read(40, at: 0), header.count == 40, header[12] == 1,
      header[32..<40] == salts
    else { return nil }
    // In the order of this machine's bytes.
    return Int(header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: UInt32.self) })
  }

  /// Reads on behind what SQLite would read.
  private struct Walk {
    var sums: Sums
    /// What belongs to no whole commit yet.
    var pending: [Int: Int64] = [:]
    /// Whole commits behind damage of which it is not certain that they are more than remains.
    var doubtful: [Int: Int64] = [:]
    var doubtfulPageCount: Int?
    /// Whether the frame before this one is whole, ends a commit, and lies behind damage.
    var isBehindCommit = false
    /// Damaged frames since the last whole commit.
    var damagedNow = 0
  }

  private mutating func readFrames(
    _ file: ReadOnlyFile, salts: ArraySlice<UInt8>, sums start: Sums, isBigEndian: Bool,
    knownFrames: Int?
  ) {
    guard let pageBytes else { return }
    let frameBytes = Self.frameHeaderBytes + pageBytes
    var walk = Walk(sums: start)
    var place = Int64(Self.headerBytes)
    // Frames of an earlier round follow, or ones of no round, once nothing hangs together.
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
        walk.isBehindCommit = false
      }
      // Each frame carries on from what the one before has written down.
      walk.sums = written
      place += Int64(frameBytes)
    }
    // Of two commits that the index knows of, the first was synced.
    if knownFrames != nil, commitsBehindDamage > 1 { believe(&walk) }
  }

  private mutating func take(_ frame: [UInt8], at place: Int64, _ walk: inout Walk) {
    if walk.isBehindCommit { believe(&walk) }
    walk.isBehindCommit = false
    walk.pending[frame.number32(at: 0)] = place + Int64(Self.frameHeaderBytes)
    guard frame.number32(at: 4) > 0 else { return }
    damagedFrames += walk.damagedNow
    walk.damagedNow = 0
    if damagedFrames > 0 {
      commitsBehindDamage += 1
      walk.isBehindCommit = true
      walk.doubtful.merge(walk.pending) { _, new in new }
      walk.doubtfulPageCount = frame.number32(at: 4)
    } else {
      places.merge(walk.pending) { _, new in new }
      pageCount = frame.number32(at: 4)
    }
    walk.pending = [:]
  }

  /// All commits so far were synced.
  private mutating func believe(_ walk: inout Walk) {
    isDamaged = true
    places.merge(walk.doubtful) { _, new in new }
    pageCount = walk.doubtfulPageCount ?? pageCount
    walk.doubtful = [:]
  }

  /// So many frames in a row are passed over to look for whole ones behind them.
  private static let damageMax = 64
}
