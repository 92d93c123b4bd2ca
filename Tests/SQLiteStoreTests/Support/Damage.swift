import Foundation
import Glibc
import RelayCore
import SQLite
import SQLitePages

@testable import SQLiteStore

/// Ways in which a disk damages a file, by a seed.
enum Damage: String, CaseIterable {
  case flippedBytes, zeroedPage, garbagePage, swappedPages, cutOff

  static func overwrite(_ path: String, at place: Int, with bytes: [UInt8]) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(place))
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  static func truncate(_ path: String, to size: Int) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.truncate(atOffset: UInt64(size))
    try file.close()
  }

  /// Damages a database.
  ///
  /// - Returns: The pages that are not as they were.
  func strike(
    _ database: [UInt8], pageBytes: Int, count: Int, _ random: inout SplitMix64
  ) -> (bytes: [UInt8], pages: Set<Int>) {
    var bytes = database
    var pages: Set<Int> = []
    let pageCount = database.count / pageBytes
    func pick() -> Int { Int(random.next() % UInt64(pageCount)) }
    for _ in 0..<count {
      let page = pick()
      let range = page * pageBytes..<(page + 1) * pageBytes
      switch self {
      case .flippedBytes:
        for _ in 0..<8 {
          bytes[range.lowerBound + Int(random.next() % UInt64(pageBytes))] ^= UInt8(
            truncatingIfNeeded: random.next() | 1)
        }
        pages.insert(page + 1)
      case .zeroedPage:
        bytes.replaceSubrange(range, with: repeatElement(0, count: pageBytes))
        pages.insert(page + 1)
      case .garbagePage:
        bytes.replaceSubrange(
          range, with: (0..<pageBytes).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        pages.insert(page + 1)
      case .swappedPages:
        let other = pick()
        let otherRange = other * pageBytes..<(other + 1) * pageBytes
        let one = Array(bytes[range])
        bytes.replaceSubrange(range, with: bytes[otherRange])
        bytes.replaceSubrange(otherRange, with: one)
        pages.formUnion([page + 1, other + 1])
      case .cutOff:
        guard bytes.count == database.count else { break }
        let left = max(1, pageCount - 1 - Int(random.next() % UInt64(max(1, pageCount / 4))))
        bytes.removeLast(bytes.count - left * pageBytes + Int(random.next() % UInt64(pageBytes)))
        pages.formUnion(left...pageCount)
      }
    }
    return (bytes, pages)
  }
}

/// Which envelopes stand on which page of a whole database, their bodies' pages included.
struct PageContents {
  private(set) var ids: [Int: Set<String>] = [:]
  /// Pages with the names of clients, lanes and upstreams: a flipped byte there is another name.
  private(set) var names: Set<Int> = []
  /// Pages of the pointer maps, which are needed for bodies that go on elsewhere.
  private(set) var maps: Set<Int> = []
  /// Pages that say which body is in which file, and those of the index on the files' names.
  private(set) var bodyPages: [Set<Int>] = [[], []]
  /// Pages of the tokens, and those of the index on their clients.
  private(set) var tokenPages: [Set<Int>] = [[], []]
  private var filed: Set<String> = []

  init(database: String) throws {
    let image = try DatabaseImage(path: database, indexTrust: .hint)
    let connection = try Connection(path: database, access: .readOnly)
    let root = Int(
      try connection.number("SELECT rootpage FROM sqlite_schema WHERE name = 'envelope'"))
    let names = [
      "client", "lane", "upstream", "body_file", "sqlite_autoindex_body_file_1", "token",
      "token_client",
    ]
    let roots = try names.map { name in
      Int(try connection.number("SELECT rootpage FROM sqlite_schema WHERE name = '\(name)'"))
    }
    let owners = PageOwners(image, roots: [root] + roots)
    let pointers = PointerMap(image)
    filed = try Self.filed(connection)
    for page in 1...image.pageCount {
      if pointers.isMap(page) { maps.insert(page) }
      let owner = owners.tree(of: page) ?? 0
      if (2...4).contains(owner) { self.names.insert(page) }
      if (5...6).contains(owner) { bodyPages[owner - 5].insert(page) }
      if (7...8).contains(owner) { tokenPages[owner - 7].insert(page) }
      guard owner == 1, let tree = image.tree(page) else { continue }
      for case let cell? in tree.cells where !cell.local.isEmpty {
        guard let id = StoredRecord.leading(cell.local).dropFirst().first?.blob.flatMap(RowRules.id)
        else { continue }
        ids[page, default: []].insert("\(id)")
        var next = cell.overflow ?? 0
        while next > 0 {
          ids[next, default: []].insert("\(id)")
          next = image.page(next)?.number32(at: 0) ?? 0
        }
      }
    }
  }

  /// The envelopes that cannot but be lost with some pages.
  func lost(with damaged: Set<Int>) -> Set<String> {
    var lost = damaged.reduce(into: Set<String>()) { $0.formUnion(ids[$1] ?? []) }
    // Either of the two tells which file is whose.
    if bodyPages.allSatisfy({ !$0.isDisjoint(with: damaged) }) { lost.formUnion(filed) }
    return lost
  }

  /// Those whose bodies are in files.
  private static func filed(_ connection: borrowing Connection) throws -> Set<String> {
    let row = try Statement(
      "SELECT id FROM envelope JOIN body_file USING (serial)", on: connection)
    var ids: Set<String> = []
    while try row.step() {
      if let id = RowRules.id(row.bytes(0)) { ids.insert("\(id)") }
    }
    return ids
  }
}
