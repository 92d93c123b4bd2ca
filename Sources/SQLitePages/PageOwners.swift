/// The tree of each page of a damaged database.
///
/// It is found from above, if the pages above can be read, or else by the pointer maps, if there
/// are any.
package struct PageOwners {
  /// A tree's number, from 1, by page number; 0 for none.
  private var owners: [UInt16]
  private let pointers: PointerMap
  private let isMapped: Bool
  /// The possible row numbers of a leaf, by the pages above it.
  private var ranges: [Int: RowRange] = [:]
  /// The free pages, by the free list.
  private var free: Set<Int> = []

  /// Pages of which nothing is known: no page leads to them, and the pointer maps have no entry.
  package private(set) var strays: [Int] = []

  /// Whether nothing is known of a page.
  package func isStray(_ page: Int) -> Bool {
    tree(of: page) == nil && !free.contains(page) && entry(page) == nil && !pointers.isMap(page)
  }

  /// Examines a whole database.
  ///
  /// - Parameter roots: The first pages of the trees; a tree's number is its place plus one.
  package init(_ image: DatabaseImage, roots: [Int]) {
    owners = [UInt16](repeating: 0, count: image.pageCount + 1)
    pointers = PointerMap(image)
    isMapped = image.form.hasPointerMaps
    readFreeList(image)
    for (place, root) in roots.enumerated() where root > 0 && root <= image.pageCount {
      walk(from: root, as: UInt16(place + 1), image)
    }
    takeByPointers()
  }

  /// The tree of a page, from 1; nil for a page of no tree: free, an overflow, a map.
  package func tree(of page: Int) -> Int? {
    page < owners.count && owners[page] > 0 ? Int(owners[page]) : nil
  }

  /// The possible row numbers of a page, as far as the pages above it tell.
  package func range(of page: Int) -> RowRange { ranges[page] ?? .all }

  /// The pointer maps' entry for a page.
  package func entry(_ page: Int) -> PointerMap.Entry? { pointers.entry(page) }

  private mutating func walk(
    from root: Int, as tree: UInt16, _ image: DatabaseImage
  ) {
    var next = [(page: root, parent: 0, range: RowRange.all)]
    while let (number, parent, range) = next.popLast() {
      guard number > 0, number < owners.count, owners[number] == 0, !pointers.isMap(number),
        number == root || belongs(number, under: parent)
      else { continue }
      owners[number] = tree
      guard let page = image.tree(number) else { continue }
      if page.kind == .tableLeaf, range != .all { ranges[number] = range }
      guard page.kind.isInterior else { continue }
      var after = range.after
      for case let cell? in page.cells {
        guard let child = cell.child else { continue }
        let through = min(cell.row ?? .max, range.through)
        next.append((child, number, RowRange(after: after, through: through)))
        after = cell.row == nil ? after : max(after, through)
      }
      if let last = page.lastChild {
        next.append((last, number, RowRange(after: after, through: range.through)))
      }
    }
  }

  /// Whether a pointer to this page may be believed: the pointer maps do not contradict it.
  ///
  /// A misplaced page would lead to the pages of its own tree.
  private func belongs(_ number: Int, under parent: Int) -> Bool {
    guard let entry = pointers.entry(number) else { return true }
    return entry.use == .tree && entry.parent == parent
  }

  /// Assigns pages that nothing led to, by the parents that the pointer maps know.
  private mutating func takeByPointers() {
    guard owners.count > 3 else { return }
    for number in 3..<owners.count where owners[number] == 0 && !free.contains(number) {
      if let tree = treeAbove(number) {
        owners[number] = tree
      } else if pointers.entry(number) == nil, !pointers.isMap(number) {
        strays.append(number)
      }
    }
  }

  private func treeAbove(_ number: Int) -> UInt16? {
    var page = number
    // No tree is deeper than this, and damaged entries may form a circle.
    for _ in 0..<40 {
      guard let entry = pointers.entry(page), entry.use == .tree else { return nil }
      page = entry.parent
      guard page < owners.count else { return nil }
      if owners[page] > 0 { return owners[page] }
    }
    return nil
  }

  private mutating func readFreeList(_ image: DatabaseImage) {
    guard image.hasHeader, let first = image.page(1) else { return }
    var trunk = first.number32(at: 32)
    while trunk > 1, trunk <= image.pageCount, free.insert(trunk).inserted,
      let bytes = image.page(trunk)
    {
      let count = min(bytes.number32(at: 4), image.pageBytes / 4 - 2)
      for index in 0..<count {
        let leaf = bytes.number32(at: 8 + 4 * index)
        // A damaged list names pages that are in use.
        if !isMapped || pointers.entry(leaf)?.use == .free { free.insert(leaf) }
      }
      trunk = bytes.number32(at: 0)
    }
  }
}

/// The database's own record of a page's use, and of the page that points to it.
///
/// Every store of the relay has such entries, since its free pages can be given back, and no outbox
/// (`auto_vacuum`; <https://www.sqlite.org/fileformat.html#pointer_map_or_ptrmap_pages>). So a
/// page's table can be found even if every page above it is lost.
package struct PointerMap {
  /// What a page is for.
  package enum Use: UInt8 {
    case root = 1
    case free = 2
    case firstOverflow = 3
    case overflow = 4
    case tree = 5
  }

  /// What is said of a page.
  package struct Entry {
    /// What it is for.
    package var use: Use
    /// The page that points to it; 0 for a root and a free page.
    package var parent: Int
  }

  private let pageBytes: Int
  private let pageCount: Int
  private let isThere: Bool
  private var maps: [Int: [UInt8]] = [:]

  private static let entryBytes = 5

  /// Reads all pointer maps, if there are any: one page for about every 1,600 others.
  package init(_ image: DatabaseImage) {
    pageBytes = image.pageBytes
    pageCount = image.pageCount
    isThere = image.form.hasPointerMaps
    var number = 2
    while isThere, number <= pageCount {
      maps[number] = image.page(number)
      number += entriesPerMap + 1
    }
  }

  private var entriesPerMap: Int { pageBytes / Self.entryBytes }

  /// Whether a page is a pointer map.
  package func isMap(_ number: Int) -> Bool {
    isThere && number >= 2 && (number - 2) % (entriesPerMap + 1) == 0
  }

  /// The entry of a page; nil if there is none, or it is not valid.
  package func entry(_ number: Int) -> Entry? {
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
