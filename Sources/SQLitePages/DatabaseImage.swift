import RelayCore

/// The pages of a database after its last commit: the file, overlaid by the log.
///
/// It reads them without SQLite, which gives up a whole table for one damaged page on its way.
package struct DatabaseImage {
  private let file: ReadOnlyFile
  private let log: ReadOnlyFile?
  /// The content of the log.
  package let logImage: LogImage
  /// What was known of it before.
  package let form: DatabaseForm
  /// The size of a page.
  package let pageBytes: Int
  /// The number of pages, including those that the file is too short for.
  package let pageCount: Int
  /// Whether the file's header is valid.
  package let hasHeader: Bool
  /// The version of the schema; nil if it is not known.
  package let schemaVersion: Int64?
  /// The number of acknowledged commits that it is known to lack.
  package var missingCommits: Int64 = 0

  /// The offset of the first page's own header, behind the file's.
  package static let firstPageHeaderAt = 100
  private static let magic = Array("SQLite format 3\0".utf8)

  /// Whether a page can have this size.
  package static func isPageSize(_ size: Int) -> Bool {
    (512...65536).contains(size) && size.nonzeroBitCount == 1
  }

  /// Opens a database; a missing log counts as empty.
  ///
  /// - Throws: ``StoreError/Kind/corrupt`` if there is no database file.
  package init(path: String, form: DatabaseForm) throws(StoreError) {
    guard let file = try ReadOnlyFile.open(path) else {
      throw StoreError(
        kind: .corrupt, operation: "open", subject: path, detail: "there is no such file.")
    }
    let log = try ReadOnlyFile.open(path + "-wal")
    let index = form.indexTrust == .none ? nil : LogIndex(try ReadOnlyFile.open(path + "-shm"))
    let said = Self.pageBytes(in: file.read(Self.firstPageHeaderAt, at: 0))
    var logImage = LogImage(log, index: index, form: form, pageBytes: said ?? form.pageBytes)
    if let log, logImage.isSuperfluous(log, beside: file) { logImage = LogImage() }
    self.init(file: file, log: log, logImage: logImage, form: form)
  }

  /// The size of a page that a file's header says; nil if it is no such header.
  private static func pageBytes(in header: [UInt8]) -> Int? {
    let stored = header.number16(at: 16) == 1 ? 65536 : header.number16(at: 16)
    return header.starts(with: magic) && isPageSize(stored) ? stored : nil
  }

  private init(
    file: ReadOnlyFile, log: ReadOnlyFile?, logImage: LogImage, form: DatabaseForm
  ) {
    var header = file.read(Self.firstPageHeaderAt, at: 0)
    if let place = logImage.places[1], let log {
      header = log.read(Self.firstPageHeaderAt, at: place)
    }
    let stored = Self.pageBytes(in: header)
    hasHeader = stored != nil
    pageBytes = stored ?? logImage.pageBytes ?? form.pageBytes
    let inFile = Int((file.byteCount + Int64(pageBytes) - 1) / Int64(pageBytes))
    let said = hasHeader ? header.number32(at: 28) : 0
    // A wrong header must not cause a search for a thousand million pages.
    let believed = said <= max(inFile, 16) * 2 ? max(said, inFile) : inFile
    pageCount = logImage.pageCount ?? believed
    let version = Int64(header.number32(at: 60))
    schemaVersion = hasHeader && version > 0 && version <= form.latestVersion ? version : nil
    self.file = file
    self.log = log
    self.logImage = logImage
    self.form = form
  }

  /// Tells the disk's refusal of a read apart from damage, for those to whom that matters.
  ///
  /// - Throws: ``StoreError/Kind/inputOutput`` if a read so far has failed.
  package func requireReads() throws(StoreError) {
    try file.requireReads()
    try log?.requireReads()
  }

  /// The number of pages that the file is too short for and the log does not have either.
  package var missingPages: Int {
    let inFile = Int(file.byteCount / Int64(pageBytes))
    guard inFile < pageCount else { return 0 }
    return (inFile + 1...pageCount).count { logImage.places[$0] == nil }
  }

  /// A page; nil if it is not there, or the disk cannot read it.
  package func page(_ number: Int) -> [UInt8]? {
    guard number >= 1, number <= pageCount else { return nil }
    if let place = logImage.places[number], let log {
      let bytes = log.read(pageBytes, at: place)
      if bytes.count == pageBytes { return bytes }
    }
    let bytes = file.read(pageBytes, at: Int64(number - 1) * Int64(pageBytes))
    return bytes.count == pageBytes ? bytes : nil
  }

  /// A page of a tree; nil if it is not one.
  package func tree(_ number: Int) -> BTreePage? {
    page(number).flatMap { BTreePage($0, headerAt: number == 1 ? Self.firstPageHeaderAt : 0) }
  }
}
