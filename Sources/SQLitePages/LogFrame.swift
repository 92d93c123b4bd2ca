/// What tells one round of a log from those before it.
///
/// Each time a log starts over, SQLite adds one to the first of its two salts, and draws the
/// second anew (<https://www.sqlite.org/fileformat.html#walformat>).
struct LogRound: Equatable {
  private let number: UInt32
  private let random: UInt32

  /// The most rounds that a log may have gone on by, so that two of its rounds are told from those
  /// of two logs.
  private static let distanceMax: UInt32 = 1024

  /// Reads the eight bytes of both salts.
  init(_ bytes: [UInt8], at place: Int) {
    number = UInt32(bytes.number32(at: place))
    random = UInt32(bytes.number32(at: place + 4))
  }

  /// Whether it is a later round of the same log.
  func follows(_ other: LogRound) -> Bool {
    random != other.random && (1...Self.distanceMax).contains(number &- other.number)
  }
}

/// The running sums over a log, each of which continues from the one before.
struct LogSums: Equatable {
  private var first: UInt32 = 0
  private var second: UInt32 = 0

  /// The sums of nothing.
  init() {}

  /// Reads the eight bytes of sums that were written.
  init(_ bytes: [UInt8], at place: Int) {
    first = UInt32(bytes.number32(at: place))
    second = UInt32(bytes.number32(at: place + 4))
  }

  /// Goes on over some bytes, a multiple of eight.
  ///
  /// - Parameter isBigEndian: In which order the bytes of a number are taken.
  mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
    bytes.withUnsafeBytes { buffer in
      var place = 0
      while place + 8 <= buffer.count {
        let one = buffer.loadUnaligned(fromByteOffset: place, as: UInt32.self)
        let two = buffer.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
        first =
          first &+ (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
        second =
          second &+ (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
        place += 8
      }
    }
  }
}

/// The beginning of a log.
struct LogHeader {
  /// Its length in bytes.
  static let byteCount = 32

  /// Whether it is what was written.
  let isSound: Bool
  /// Whether the sums take the bytes of a number in the order of big-endian machines.
  let isBigEndian: Bool
  /// The size of a page.
  let pageBytes: Int
  /// The round that its frames are of.
  let round: LogRound
  /// The sums that the first frame continues from.
  let sums: LogSums

  /// Reads it; nil if the log is shorter.
  init?(of file: ReadOnlyFile) {
    let bytes = file.read(Self.byteCount, at: 0)
    guard bytes.count == Self.byteCount else { return nil }
    sums = LogSums(bytes, at: 24)
    var found = LogSums()
    found.add(bytes[0..<24], isBigEndian: bytes[3] & 1 == 1)
    pageBytes = bytes.number32(at: 8)
    isSound =
      found == sums && bytes.number32(at: 0) >> 1 == 0x377f_0682 >> 1
      && DatabaseImage.isPageSize(pageBytes)
    // SQLite writes the sums in the order of the machine that it runs on.
    isBigEndian = isSound ? bytes[3] & 1 == 1 : 1.bigEndian == 1
    round = LogRound(bytes, at: 16)
  }
}

/// The beginning of a frame, before its page.
struct LogFrame {
  /// Its length in bytes.
  static let byteCount = 24

  /// The number of the page, from 1; 0 if nothing was written here.
  let page: Int
  /// The number of pages of the database after the commit that it ends; 0 if it ends none.
  let pageCount: Int
  /// The round that it was written in.
  let round: LogRound
  /// The sums up to its end, as they were written.
  let sums: LogSums
  private let summed: [UInt8]

  /// Reads it; nil if there are fewer bytes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    page = bytes.number32(at: 0)
    pageCount = bytes.number32(at: 4)
    round = LogRound(bytes, at: 8)
    sums = LogSums(bytes, at: 16)
    summed = Array(bytes[0..<8])
  }

  /// Whether it and its page are what was written.
  ///
  /// - Parameter before: The sums that it continues from.
  func isSound(_ content: [UInt8], after before: LogSums, isBigEndian: Bool) -> Bool {
    var found = before
    found.add(summed[...], isBigEndian: isBigEndian)
    found.add(content[...], isBigEndian: isBigEndian)
    return found == sums
  }
}

/// The frames of a log, whole or not, as they stand one after the other.
struct LogFrames {
  private let file: ReadOnlyFile
  private let pageBytes: Int
  private let header: LogHeader
  private let frames: [LogFrame]

  /// Reads the frames' beginnings.
  init(of file: ReadOnlyFile, behind header: LogHeader, pageBytes: Int) {
    self.file = file
    self.pageBytes = pageBytes
    self.header = header
    let frameBytes = Int64(LogFrame.byteCount + pageBytes)
    let count = max(0, file.byteCount - Int64(LogHeader.byteCount)) / frameBytes
    frames = (0..<count).compactMap { number in
      LogFrame(file.read(LogFrame.byteCount, at: Int64(LogHeader.byteCount) + number * frameBytes))
    }
  }

  /// The numbers of all frames, from 0.
  var indices: Range<Int> { frames.indices }

  /// A frame.
  subscript(number: Int) -> LogFrame { frames[number] }

  /// The offset of a frame's page.
  func place(of number: Int) -> Int64 {
    Int64(LogHeader.byteCount + LogFrame.byteCount)
      + Int64(number) * Int64(LogFrame.byteCount + pageBytes)
  }

  /// The content of a frame's page.
  func content(of number: Int) -> [UInt8] { file.read(pageBytes, at: place(of: number)) }

  /// Whether a frame and its page are what was written, and continue from what stands before it.
  func isSound(_ number: Int) -> Bool {
    frames[number].page > 0
      && frames[number].isSound(
        content(of: number), after: number == 0 ? header.sums : frames[number - 1].sums,
        isBigEndian: header.isBigEndian)
  }

  /// Whether a frame goes on in the round of the one before it, and is what was written.
  func goesOn(at number: Int) -> Bool {
    number > 0 && frames[number].round == frames[number - 1].round && isSound(number)
  }

  /// Whether the first frame is of the latest round that there is, as far as the second one shows.
  ///
  /// A round may have a single frame. What follows it then is of an earlier one.
  var hasFront: Bool {
    guard let first = frames.first, first.page > 0 else { return false }
    return frames.count == 1 || frames[1].round == first.round
      || first.round.follows(frames[1].round)
  }

  /// Whether anything was ever written behind the header.
  var areWritten: Bool {
    indices.contains { number in
      frames[number].page > 0 || content(of: number).contains { $0 != 0 }
    }
  }

  /// Whether there are frames of a later round than the header.
  func hasLater(than round: LogRound) -> Bool {
    indices.contains { number in
      frames[number].page > 0 && frames[number].round.follows(round)
        && (number == 0 || goesOn(at: number))
    }
  }

  /// The first round of which two frames in a row go on; nil if there are none.
  var firstRound: LogRound? { indices.first(where: goesOn).map { frames[$0].round } }
}
