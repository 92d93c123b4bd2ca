import JSON
import RelayCore
import SQLite
import SQLitePages

/// An outbox's database, read without SQLite.
struct OutboxImage {
  let database: DatabaseImage
  /// What of the list of tables can be read.
  let list: [Schema.Listed]
  /// The first pages of what stands there as this library has written it.
  private let knownRoots: Set<Int>

  /// Opens a database; nil if there is none.
  ///
  /// - Throws: `StoreError` if the disk refuses.
  init?(_ path: String, _ durability: Durability) throws(StoreError) {
    guard Platform.size(of: path) != nil else { return nil }
    database = try DatabaseImage(path: path, form: Self.form(durability))
    list = Self.list(of: database)
    knownRoots = Set(try Schema.known(of: list).map(\.root))
    try database.requireReads()
  }

  /// The version that the database says of itself, above its tables.
  var saidVersion: Int { database.page(1)?.number32(at: DatabaseHeader.versionAt) ?? 0 }

  private static func form(_ durability: Durability) -> DatabaseForm {
    DatabaseForm(
      pageBytes: DatabaseHeader.pageBytes, latestVersion: Schema.version,
      // SQLite syncs each commit before it begins the next one, or none.
      unsyncedCommitsMax: durability == .full ? 1 : .max,
      // Without an index as well: a power cut leaves any, also one of long ago.
      hasPointerMaps: false, indexTrust: .none)
  }

  /// Whether SQLite would drop acknowledged commits of a database's log, which lie behind damage.
  ///
  /// It does so without a word: a frame that does not fit is the log's end to it.
  static func hasLostCommits(
    _ path: String, _ durability: Durability
  ) throws(StoreError) -> Bool {
    let log = path + "-wal"
    guard durability == .full, Platform.size(of: log) ?? 0 > 0, Platform.size(of: path) != nil
    else { return false }
    // Its end may be a commit whose process ended before the sync. What is built upon it has to be
    // as certain as what is built upon any other.
    try Platform.sync(log)
    let image = try DatabaseImage(path: path, form: form(durability))
    try image.requireReads()
    return image.logImage.isDamaged
  }

  /// The most pages that the list of tables is looked for on: a damaged one may lead anywhere.
  private static let listPagesMax = 64

  private static func list(of image: DatabaseImage) -> [Schema.Listed] {
    let reader = RowReader(owners: PageOwners(image, roots: []))
    var found: [Schema.Listed] = []
    var pages = [1]
    var seen: Set<Int> = []
    while let number = pages.popLast(), seen.insert(number).inserted, seen.count < listPagesMax {
      guard let page = image.tree(number), page.kind.isOfTable else { continue }
      pages += page.cells.compactMap { $0?.child } + [page.lastChild].compactMap(\.self)
      for case let cell? in page.cells where page.kind == .tableLeaf {
        guard case .record(let record) = reader.read(cell, of: number, image),
          record.values.count == 5, let kind = record.values[0].text,
          let name = record.values[1].text, let table = record.values[2].text,
          let root = record.values[3].integer
        else { continue }
        let entry = Schema.Entry(kind: kind, name: name, table: table, sql: record.values[4].text)
        found.append(Schema.Listed(entry: entry, root: Int(clamping: root)))
      }
    }
    return found
  }
}

// The rows of the tables.
extension OutboxImage {
  /// The pages of each table with rows, in the tables' order, and what reads their rows.
  ///
  /// The newest pages come first: where a row stands on two of them, one is from before the damage.
  func pages(of shapes: [TableShape]) -> (pages: [[Int]], reader: RowReader) {
    let owners = PageOwners(database, roots: shapes.map(root))
    let reader = RowReader(owners: owners)
    var pages = shapes.map { _ in [Int]() }
    let places = database.logImage.places
    for number in 1..<max(2, database.pageCount + 1) {
      let tree = owners.tree(of: number).map { $0 - 1 }
      // What no page leads to is from before the damage, or was given up, unless the log has it.
      guard tree != nil || places[number] != nil && owners.isStray(number),
        let shape = shape(of: number, tree, shapes, reader)
      else { continue }
      pages[shape].append(number)
    }
    for index in pages.indices {
      pages[index].sort { (places[$0] ?? 0, $1) > (places[$1] ?? 0, $0) }
    }
    return (pages, reader)
  }

  /// The rows of a page that belong to a table, without those whose numbers cannot be right.
  func rows(of number: Int, _ shape: TableShape, _ reader: RowReader) -> [[StoredValue]] {
    guard let page = database.tree(number), page.kind != .tableInterior else { return [] }
    let gaps =
      shape.hasRowNumbers ? RowPlaces.gaps(in: page, reader.owners.range(of: number)) : [:]
    return page.cells.enumerated().compactMap { place, cell in
      guard let cell, gaps[place] == nil,
        case .record(let record) = reader.read(cell, of: number, database),
        let values = shape.row(record, number: cell.row)
      else { return nil }
      return OutboxRows.isOurs(values, of: shape.name) ? values : nil
    }
  }

  /// The table whose rows a page has: that of its tree, or the only one that they fit.
  private func shape(
    of number: Int, _ tree: Int?, _ shapes: [TableShape], _ reader: RowReader
  ) -> Int? {
    func fits(_ index: Int) -> Bool { !rows(of: number, shapes[index], reader).isEmpty }
    if let tree, fits(tree) { return tree }
    guard database.tree(number)?.kind == .tableLeaf else { return nil }
    let fitting = shapes.indices.filter { OutboxRows.isTelling(shapes[$0]) && fits($0) }
    return fitting.count == 1 ? fitting[0] : nil
  }

  /// The first page of a table: that of the list, or, if it has more rows of the table, that of
  /// a database that was made in one go.
  private func root(of shape: TableShape) -> Int {
    let said = list.first { $0.entry.kind == "table" && $0.entry.name == shape.name }?.root
    guard let said else { return knownRoots.contains(shape.root) ? 0 : shape.root }
    guard said != shape.root else { return said }
    return rowCount(of: shape, under: said) < rowCount(of: shape, under: shape.root)
      ? shape.root : said
  }

  private func rowCount(of shape: TableShape, under root: Int) -> Int {
    let owners = PageOwners(database, roots: [root])
    let reader = RowReader(owners: owners)
    return (1..<max(2, database.pageCount + 1)).reduce(0) { count, number in
      owners.tree(of: number) == nil ? count : count + rows(of: number, shape, reader).count
    }
  }
}

/// What the rows of an outbox can be.
enum OutboxRows {
  /// Whether this library can have written a row, as far as it has to read it again.
  static func isOurs(_ values: [StoredValue], of table: String) -> Bool {
    switch table {
    case "meta": values[0].text.flatMap(MetaName.init) != nil
    case "item":
      values[2].integer.flatMap(ItemState.init) != nil
        && values[8].integer.flatMap(BodyKind.init) != nil
    case "content": values[1].blob.flatMap(RequestForm.request) != nil
    case "receipt":
      values[4].blob.flatMap { try? JSONValue.parse($0) }.flatMap { SignedReceipt($0) } != nil
    case "ledger_page": values[4].blob.flatMap { SignedLedgerPage($0) } != nil
    case "item_signature": values[4].blob.flatMap { ItemStatement(payload: $0) } != nil
    default: true
    }
  }

  /// Whether nothing but this table has rows of its form.
  static func isTelling(_ shape: TableShape) -> Bool {
    shape.hasRowNumbers && shape.columns.contains { $0.type != "INTEGER" }
  }
}
