import RelayCore

/// The first bytes of a database file, most of which are the same in each outbox.
///
/// SQLite refuses a file for one wrong byte among them, though all rows are there. So they are
/// looked at before, and mended before what is left is read
/// ([the file format](https://www.sqlite.org/fileformat2.html#the_database_header)).
struct DatabaseHeader: Equatable {
  /// The header's size in bytes.
  static let byteCount = 100
  /// The bytes of a page, which are SQLite's own choice.
  static let pageBytes = 4096

  /// How far a version may be above this library's and still be one: later libraries count on.
  private static let newerVersionsMax = 1000

  private(set) var bytes: [UInt8]

  /// Takes the bytes of a file's beginning; nil if they are too few.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.byteCount else { return nil }
    self.bytes = Array(bytes[..<Self.byteCount])
  }

  /// Whether nothing was written behind it yet: all that there is stands in the log.
  private var isOfEmptyFile: Bool {
    number(at: .format) == 0 && number(at: .encoding) == 0 && number(at: .version) == 0
  }

  /// Whether SQLite can use it, as far as it does not depend on the rest of the file.
  ///
  /// - Parameter hasLog: Whether there is a log, which may have later values than the file.
  func isSound(hasLog: Bool) -> Bool {
    var same = self
    same.writeConstants()
    if isOfEmptyFile { same.writeEmpty() }
    guard same == self else { return false }
    if isOfEmptyFile { return true }
    let version = number(at: .version)
    return version <= Schema.version + Self.newerVersionsMax && (version > 0 || hasLog)
  }

  /// What SQLite can use in its place.
  ///
  /// - Parameter fileBytes: The file's size.
  func mended(fileBytes: Int64) -> DatabaseHeader {
    var mended = self
    mended.writeConstants()
    if isOfEmptyFile {
      mended.writeEmpty()
      return mended
    }
    mended.write(Int(clamping: fileBytes / Int64(Self.pageBytes)), at: .pageCount)
    mended.write(number(at: .changes), at: .validFor)
    // Nothing is written into this file, so nobody looks for a free page.
    mended.write(0, at: .freePage)
    mended.write(0, at: .freePages)
    let version = number(at: .version)
    if version < 1 || version > Schema.version + Self.newerVersionsMax {
      mended.write(Schema.version, at: .version)
    }
    return mended
  }

  /// Where the version of the tables stands.
  static let versionAt = Place.version.rawValue

  /// Where numbers of four bytes stand.
  private enum Place: Int {
    case changes = 24
    case pageCount = 28
    case freePage = 32
    case freePages = 36
    case format = 44
    case largestRoot = 52
    case encoding = 56
    case version = 60
    case vacuum = 64
    case application = 68
    case validFor = 92
  }

  private mutating func writeConstants() {
    bytes.replaceSubrange(0..<16, with: Array("SQLite format 3".utf8) + [0])
    // The size of pages, the log for writers and readers, nothing reserved, and three fractions.
    bytes.replaceSubrange(16..<24, with: [0x10, 0x00, 2, 2, 0, 64, 32, 32])
    write(4, at: .format)
    write(0, at: .largestRoot)
    write(1, at: .encoding)
    write(0, at: .vacuum)
    write(0, at: .application)
    bytes.replaceSubrange(72..<92, with: [UInt8](repeating: 0, count: 20))
  }

  private mutating func writeEmpty() {
    write(0, at: .format)
    write(0, at: .encoding)
  }

  private func number(at place: Place) -> Int {
    bytes[place.rawValue..<place.rawValue + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private mutating func write(_ number: Int, at place: Place) {
    let word = UInt32(clamping: number)
    for index in 0..<4 {
      bytes[place.rawValue + index] = UInt8(truncatingIfNeeded: word >> (24 - 8 * index))
    }
  }
}

extension DatabaseHeader {
  /// The header of a file; nil if it has none yet, or cannot be read just now.
  init?(of path: String) {
    guard let bytes = Platform.head(of: path, byteCount: Self.byteCount) else { return nil }
    self.init(bytes)
  }

  /// Mends the header of a file in its place, where that is needed.
  ///
  /// What was there before is kept in a file beside it.
  static func mend(_ path: String) throws(StoreError) {
    guard let header = DatabaseHeader(of: path), let size = Platform.size(of: path) else { return }
    let mended = header.mended(fileBytes: size)
    guard mended != header else { return }
    if Platform.size(of: path + keptSuffix) == nil {
      try Platform.write(header.bytes, toNew: path + keptSuffix)
    }
    try Platform.overwrite(path, with: mended.bytes)
  }

  /// What the name of a mended file's former header ends with.
  static let keptSuffix = "-header"
}
