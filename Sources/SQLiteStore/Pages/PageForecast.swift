import Glibc
import RelayCore
import SQLitePages

/// The pages of a table that are about to be read, so that the kernel can fetch many of them at
/// once.
///
/// A table's pages lie scattered among those of others. SQLite asks for one after another, and a
/// disk takes its time for each that is not in memory. The list is only a hint: the log may have
/// newer pages, and the file may change meanwhile. Rows are read by SQLite.
struct PageForecast {
  /// The database's file.
  ///
  /// A process that has it open by SQLite as well must keep this until all of that is closed.
  let file: ReadOnlyFile
  private let pageBytes: Int
  /// The pages with the rows, in their order.
  let leaves: [Int]

  /// The depth that no tree of SQLite exceeds.
  private static let depthMax = 20

  /// Finds the pages of a table with rows above a number; nil if there is no such file.
  ///
  /// - Parameter root: The table's first page.
  init?(of path: String, root: Int, pageBytes: Int, after row: Int64) throws(StoreError) {
    guard let file = try ReadOnlyFile.open(path) else { return nil }
    let pageCount = Int(file.byteCount) / pageBytes
    var level = [root]
    var leaves: [Int]?
    // All leaves have the same depth, so looking at the first of a level is enough.
    for _ in 0..<Self.depthMax {
      guard let first = level.first, let page = Self.page(first, of: file, pageBytes) else { break }
      if page.kind == .tableLeaf { leaves = level }
      guard page.kind == .tableInterior else { break }
      level = level.flatMap { Self.children(of: $0, behind: row, file, pageBytes) }
        .filter { (1...max(pageCount, 1)).contains($0) }
      guard level.count <= pageCount else { break }
    }
    self.file = file
    self.pageBytes = pageBytes
    self.leaves = leaves ?? []
  }

  /// Has the kernel fetch the pages.
  func announce() {
    for page in leaves {
      // posix_fadvise(2)
      posix_fadvise(
        file.number, off_t(page - 1) * off_t(pageBytes), off_t(pageBytes), POSIX_FADV_WILLNEED)
    }
  }

  private static func children(
    of number: Int, behind row: Int64, _ file: ReadOnlyFile, _ pageBytes: Int
  ) -> [Int] {
    guard let page = page(number, of: file, pageBytes), page.kind == .tableInterior else {
      return []
    }
    let inner = page.cells.compactMap { cell in
      // A cell has the greatest number of the page that it leads to.
      cell.flatMap { ($0.row ?? .max) > row ? $0.child : nil }
    }
    return inner + [page.lastChild].compactMap(\.self)
  }

  private static func page(_ number: Int, of file: ReadOnlyFile, _ pageBytes: Int) -> BTreePage? {
    let bytes = file.read(pageBytes, at: Int64(number - 1) * Int64(pageBytes))
    return BTreePage(bytes, headerAt: number == 1 ? DatabaseImage.firstPageHeaderAt : 0)
  }
}
