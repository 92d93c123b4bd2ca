import RelayCore
import SQLite
import SQLitePages

// The trees of the old database, and their first pages.
extension Salvage {
  /// A tree of the old database.
  struct Tree {
    var shape: TableShape
    var root: Int
    /// The kind of index, if it is one.
    var index: Index?
  }

  /// An index with data of rows that cannot be read.
  enum Index {
    /// An index of names: these columns, then the row's number.
    case names([String])
    /// The names of bodies' files.
    case bodyFiles
    /// Tokens of clients.
    case tokens
  }

  /// The trees to be read, names first, so that later findings can be reported with them.
  func trees(of image: DatabaseImage) throws(StoreError) -> [Tree] {
    let stored = storedRoots(of: image)
    var trees: [Tree] = []
    func add(_ name: String, _ root: Int) {
      guard let shape = shapes.first(where: { $0.name == name }) else { return }
      trees.append(Tree(shape: shape, root: stored[name] ?? root))
    }
    let indexRoots = try indexRoots()
    func add(_ index: Index, _ name: String, of table: String) {
      guard let shape = shapes.first(where: { $0.name == table }) else { return }
      let root = stored[name] ?? indexRoots[name] ?? 0
      trees.append(Tree(shape: shape, root: root, index: index))
    }
    let first = ["client", "lane", "upstream"]
    for name in first {
      guard let shape = shapes.first(where: { $0.name == name }) else { continue }
      add(name, shape.root)
      let columns = name == "lane" ? ["client", "name"] : ["name"]
      add(.names(columns), "sqlite_autoindex_\(name)_1", of: name)
    }
    for shape in shapes where !first.contains(shape.name) && shape.name != "ended_log" {
      add(shape.name, shape.root)
    }
    add(.bodyFiles, "sqlite_autoindex_body_file_1", of: "body_file")
    add(.tokens, "token_client", of: "token")
    return trees
  }

  private func indexRoots() throws(StoreError) -> [String: Int] {
    let roots = try Statement(
      "SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'", on: connection
    ).rows { ($0.text(0) ?? "", Int($0.int(1))) }
    return Dictionary(roots) { $1 }
  }

  /// The first pages of the trees by the old database's own schema, as far as it can be read.
  ///
  /// Otherwise they are assumed to be those of the new database: it was made by the same steps, and
  /// `auto_vacuum` keeps all first pages at the beginning of the file, in the order of the steps.
  private func storedRoots(of image: DatabaseImage) -> [String: Int] {
    var roots: [String: Int] = [:]
    var pages = [1]
    var seen: Set<Int> = []
    while let number = pages.popLast(), seen.insert(number).inserted, seen.count < 64 {
      guard let page = image.tree(number), page.kind.isOfTable else { continue }
      pages += page.cells.compactMap { $0?.child } + [page.lastChild].compactMap(\.self)
      for case let cell? in page.cells where cell.overflow == nil && page.kind == .tableLeaf {
        guard let record = StoredRecord(Array(cell.local)), record.values.count == 5,
          let name = record.values[1].text, let root = record.values[3].integer, root > 2,
          root <= image.pageCount, record.values[0] != .text("trigger")
        else { continue }
        roots[name] = Int(root)
      }
    }
    return roots
  }
}
