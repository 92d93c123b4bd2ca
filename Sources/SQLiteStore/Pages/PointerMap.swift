/// The database's own record of a page's use, and of the page that points to it.
///
/// Every store of the relay has such entries, since its free pages can be given back
/// (`auto_vacuum`; <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>). So a
/// page's table can be found even if every page above it is lost.
struct PointerMap {
  enum Use: UInt8 {
    case root = 1
    case free = 2
    case firstOverflow = 3
    case overflow = 4
    case tree = 5
  }

  struct Entry {
    var use: Use
    /// The page that points to it; 0 for a root and a free page.
    var parent: Int
  }

  private let pageBytes: Int
  private let pageCount: Int
  private var maps: [Int: [UInt8]] = [:]

  private static let entryBytes = 5

  /// Reads all pointer maps: one page for about every 1,600 others.
  init(_ image: DatabaseImage) {
    pageBytes = image.pageBytes
    pageCount = image.pageCount
    var number = 2
    while number <= pageCount {
      maps[number] = image.page(number)
      number += entriesPerMap + 1
    }
  }

  private var entriesPerMap: Int { pageBytes / Self.entryBytes }

  /// Whether a page is a pointer map.
  func isMap(_ number: Int) -> Bool { number >= 2 && (number - 2) % (entriesPerMap + 1) == 0 }

  /// The entry of a page; nil if there is none, or it is not valid.
  func entry(_ number: Int) -> Entry? {
    guard number > 2, !isMap(number) else { return nil }
    let place = number - 2
    let map = 2 + place / (entriesPerMap + 1) * (entriesPerMap + 1)
    guard let bytes = maps[map] else { return nil }
    let at = (number - map - 1) * Self.entryBytes
    guard at >= 0, at + Self.entryBytes <= bytes.count, let use = Use(rawValue: bytes[at]) else {
      return nil
    }
    let parent = bytes.number32(at: at + 1)
    let hasParent = use != .root && use != .free
    guard hasParent ? (parent >= 1 && parent <= pageCount && parent != number) : parent == 0 else {
      return nil
    }
    return Entry(use: use, parent: parent)
  }
}
