import RelayCore
import SQLite
import SQLitePages

/// Makes a new store from what can be read of a damaged one.
///
/// The old store is only read, page by page and without SQLite, which gives up a table for one
/// damaged page on its way. The rows are put into a new database by SQLite, and rows that do not
/// fit together are repaired. `docs/decisions/0023-damaged-stores.md` gives the reasons.
package final class Salvage {
  /// Receives each finding as soon as it is known.
  package typealias Note = (SalvageFinding) throws(StoreError) -> Void
  /// Receives the number of pages read so far, and of all.
  package typealias Progress = (_ done: Int, _ all: Int) -> Void

  let oldFolder: String
  let newFolder: String
  let connection: Connection
  let shapes: [TableShape]
  private let note: Note
  private let progress: Progress
  private(set) var report = SalvageReport()
  /// The lost pages and rows of each table.
  private(set) var lost: [String: Int] = [:]
  /// Whether there are pages whose former content nobody knows.
  private(set) var hasStrays = false
  /// The names of body files by the index on them, by their envelopes' serials.
  var bodyNames: [Int64: String] = [:]
  /// Rows whose numbers cannot be right; all others come first.
  var misplaced: [MisplacedRow] = []
  private var inserts: [String: SharedStatement] = [:]
  private var pagesDone = 0
  private var pagesAll = 0

  /// Salvages the store in `oldFolder` into `newFolder`, which must be missing or empty.
  ///
  /// - Parameters:
  ///   - note: Called with each finding.
  ///   - progress: Called now and then.
  /// - Throws: ``StoreError`` if the new store could not be made; the old one is unchanged.
  package static func run(
    from oldFolder: String, to newFolder: String, note: @escaping Note,
    progress: @escaping Progress = { _, _ in }
  ) throws(StoreError) -> SalvageReport {
    let lock = try FolderLock(reading: oldFolder)
    defer { withExtendedLifetime(lock) {} }
    let image = try DatabaseImage(ofStoreIn: oldFolder)
    try DataFolder.requireEmpty(newFolder)
    let data = try DataFolder.claim(newFolder)
    // Half a salvage must never be taken for a new store.
    StoreMarker.write(in: newFolder)
    let part = data.database + ".part"
    let version = image.schemaVersion ?? Migration.latest
    try DatabaseFile.prepare(
      path: part, pageBytes: image.pageBytes,
      migrations: Migration.all.filter { $0.version <= version }, isToBeLogged: false)
    let salvage = try Salvage(
      oldFolder: oldFolder, newFolder: newFolder, part: part, note: note, progress: progress)
    try salvage.carryOver(image)
    return try salvage.finish(part: part, database: data.database)
  }

  init(
    oldFolder: String, newFolder: String, part: String, note: @escaping Note,
    progress: @escaping Progress = { _, _ in }
  ) throws(StoreError) {
    self.oldFolder = oldFolder
    self.newFolder = newFolder
    self.note = note
    self.progress = progress
    connection = try Connection(path: part, access: .readWrite)
    try connection.skipLog()
    shapes = try TableShape.all(of: connection)
  }

  // MARK: - Carrying over

  /// Carries over all rows, or those of one table.
  func carryOver(_ image: DatabaseImage, only table: String? = nil) throws(StoreError) {
    let trees = try trees(of: image).filter { table == nil || $0.shape.name == table }
    let owners = PageOwners(image, roots: trees.map(\.root))
    var pages: [[Int32]] = Array(repeating: [], count: trees.count)
    for page in 0...image.pageCount {
      guard let tree = owners.tree(of: page) else { continue }
      pages[tree - 1].append(Int32(page))
    }
    pagesAll = pages.reduce(0) { $0 + $1.count }
    try connection.execute("BEGIN")
    if image.missingPages > 0 {
      try add(
        SalvageFinding(
          kind: .page, table: "",
          reason: "the file is cut off: \(image.missingPages) pages of "
            + "\(image.pageCount) are missing"))
    }
    if image.logImage.isFrontLost {
      try add(
        SalvageFinding(
          kind: .page, table: "",
          reason: "the beginning of the log is lost: what stood there alone is missing"))
    }
    if image.logImage.missingFrames > 0 {
      try add(
        SalvageFinding(
          kind: .page, table: "",
          reason: "the log is cut off: pages that stood there alone are missing "
            + "(\(image.logImage.missingFrames)), with what was accepted or changed last"))
    } else if image.missingCommits > 0 {
      try add(
        SalvageFinding(
          kind: .page, table: "",
          reason: "the log is cut off or gone: commits that were acknowledged last are missing "
            + "(\(image.missingCommits))"))
    }
    for (tree, pages) in zip(trees, pages) {
      for page in pages {
        try carryOver(Int(page), of: tree, owners, image)
        pagesDone += 1
        if pagesDone % 256 == 0 { progress(pagesDone, pagesAll) }
      }
    }
    try carryOverStrays(owners, image, only: table)
    try carryOverMisplaced()
    progress(pagesAll, pagesAll)
    try connection.execute("COMMIT")
  }

  /// Carries over pages whose table the database does not name, but their rows may show.
  private func carryOverStrays(
    _ owners: PageOwners, _ image: DatabaseImage, only table: String?
  ) throws(StoreError) {
    for number in owners.strays {
      if let page = image.tree(number), let shape = shape(of: page, number, owners, image) {
        guard table == nil || shape.name == table else { continue }
        try carryOver(page, number, of: shape, owners, image)
      } else if image.page(number)?.contains(where: { $0 != 0 }) == true {
        hasStrays = true
      }
    }
  }

  /// The only table that all rows of a page fit; nil if there is none, or more than one.
  private func shape(
    of page: BTreePage, _ number: Int, _ owners: PageOwners, _ image: DatabaseImage
  ) -> TableShape? {
    guard !page.kind.isInterior, !page.cells.isEmpty else { return nil }
    var fitting = shapes.filter { $0.hasRowNumbers == page.kind.isOfTable }
    let reader = RowReader(owners: owners)
    for case let cell? in page.cells where cell.overflow == nil {
      guard case .record(let record) = reader.read(cell, of: number, image) else { return nil }
      fitting.removeAll { shape in
        shape.row(record, number: cell.row).map { RowRules.fault(in: $0, of: shape) != nil } ?? true
      }
    }
    return fitting.count == 1 ? fitting.first : nil
  }

  private func carryOver(
    _ number: Int, of tree: Tree, _ owners: PageOwners, _ image: DatabaseImage
  ) throws(StoreError) {
    let isIndex = !tree.shape.hasRowNumbers || tree.index != nil
    guard let page = image.tree(number), page.kind.isOfTable != isIndex else {
      guard tree.index == nil else { return }
      lost[tree.shape.name, default: 0] += 1
      return try add(
        SalvageFinding(
          kind: .page, table: tree.shape.name, page: number, reason: "the page cannot be read"))
    }
    guard page.kind != .tableInterior else { return }
    if let index = tree.index {
      let reader = RowReader(owners: owners)
      for case let cell? in page.cells {
        guard case .record(let record) = reader.read(cell, of: number, image) else { continue }
        switch index {
        case .names(let columns): try carryOver(name: record, columns, of: tree.shape)
        case .bodyFiles: note(bodyFile: record)
        case .tokens: try carryOver(token: record, page: number)
        }
      }
    } else if !page.kind.isInterior, !holds(page, number, tree.shape, owners, image),
      let other = shape(of: page, number, owners, image)
    {
      // A page that was written to another one's place.
      lost[tree.shape.name, default: 0] += 1
      try carryOver(page, number, of: other, owners, image)
    } else {
      try carryOver(page, number, of: tree.shape, owners, image)
    }
  }

  /// Whether any row of a page fits this table.
  private func holds(
    _ page: BTreePage, _ number: Int, _ shape: TableShape, _ owners: PageOwners,
    _ image: DatabaseImage
  ) -> Bool {
    let reader = RowReader(owners: owners)
    for case let cell? in page.cells {
      guard case .record(let record) = reader.read(cell, of: number, image) else { continue }
      if shape.row(record, number: cell.row) != nil { return true }
    }
    return page.cells.isEmpty
  }

  private func carryOver(
    _ page: BTreePage, _ number: Int, of shape: TableShape, _ owners: PageOwners,
    _ image: DatabaseImage
  ) throws(StoreError) {
    let reader = RowReader(owners: owners)
    let gaps =
      shape.hasRowNumbers ? RowPlaces.gaps(in: page, owners.range(of: number)) : [:]
    for (place, cell) in page.cells.enumerated() {
      guard let cell else {
        try lose(shape, page: number, "its place makes no sense")
        continue
      }
      switch reader.read(cell, of: number, image) {
      case .lost(let reason): try lose(shape, page: number, reason, cell: cell)
      case .record(let record):
        let row = gaps[place].map { gap in
          MisplacedRow(
            record: record, cell: cell, shape: shape, page: number,
            isAlone: page.cells.count == 1, gap: gap)
        }
        if let row, !row.hasNumberOfID {
          misplaced.append(row)
        } else {
          try carryOver(record, cell, of: shape, page: number)
        }
      }
    }
  }

  /// Carries over one row of a page.
  func carryOver(
    _ record: StoredRecord, _ cell: BTreePage.Cell, of shape: TableShape, page: Int
  ) throws(StoreError) {
    guard let values = shape.row(record, number: cell.row) else {
      return try lose(shape, page: page, "it is no row of this table", cell: cell)
    }
    if let fault = RowRules.fault(in: values, of: shape) {
      return try lose(shape, page: page, fault, cell: cell)
    }
    try insert(values, key: "\(shape.name) \(values.count)") {
      let isSingle = ["ledger", "event_origin", "receipt_origin"].contains(shape.name)
      return Self.insertion(
        into: shape.name, shape.columns.prefix(values.count).map(\.name),
        orElse: isSingle ? "REPLACE" : "IGNORE")
    }
    guard connection.changeCount > 0 else {
      return try lose(shape, page: page, "another row has its number or its name", cell: cell)
    }
    report.rows[shape.name, default: 0] += 1
  }

  /// Carries over a name that only its index still has.
  private func carryOver(
    name record: StoredRecord, _ columns: [String], of shape: TableShape
  ) throws(StoreError) {
    guard record.values.count == columns.count + 1, let number = record.values.last,
      number.integer != nil, record.values[columns.count - 1].text != nil
    else { return }
    try insert([number] + record.values.dropLast(), key: "name of \(shape.name)") {
      Self.insertion(into: shape.name, ["number"] + columns, orElse: "IGNORE")
    }
  }

  private static func insertion(
    into table: String, _ columns: [String], orElse conflict: String
  ) -> String {
    let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let places = columns.map { _ in "?" }.joined(separator: ", ")
    return "INSERT OR \(conflict) INTO \"\(table)\" (\(names)) VALUES (\(places))"
  }

  private func insert(
    _ values: [StoredValue], key: String, _ sql: () -> String
  ) throws(StoreError) {
    let known = inserts[key]
    let insert = if let known { known } else { try SharedStatement(sql(), on: connection) }
    inserts[key] = insert
    for (place, value) in values.enumerated() { insert.statement.bind(Int32(place + 1), value) }
    try insert.statement.run()
  }

  // MARK: - Findings

  /// Counts a lost row, and reports what is known of it.
  func lose(
    _ shape: TableShape, page: Int, _ reason: String, cell: BTreePage.Cell? = nil
  ) throws(StoreError) {
    lost[shape.name, default: 0] += 1
    var finding = SalvageFinding(
      kind: .row, table: shape.name, page: page, row: cell?.row, reason: reason)
    if let cell {
      // The first columns are in the page itself, and are mostly valid even if the end is not.
      let values = StoredRecord.leading(cell.local)
      func value(_ column: String) -> StoredValue? {
        shape.place(of: column).flatMap { $0 < values.count ? values[$0] : nil }
      }
      finding.id = shape.name == "envelope" ? value("id")?.blob.flatMap(RowRules.id) : nil
      finding.row = finding.row ?? value("serial")?.integer
      finding.client = try value("client")?.integer.flatMapThrowing(clientName)
      if shape.name == "token" {
        finding.token = value("id")?.text
        finding.client = value("client")?.text
      }
      finding.lane = try value("lane")?.integer.flatMapThrowing(laneName)
    }
    finding.acceptedAt = finding.id?.acceptedAt
    try add(finding)
  }

  /// Notes a lost row of which only an index knows.
  func loseToken(_ id: String, of client: String, page: Int) throws(StoreError) {
    lost["token", default: 0] += 1
    try add(
      SalvageFinding(
        kind: .row, table: "token", page: page, token: id, client: client,
        reason: "only an index knows of it; the digest of its secret is lost"))
  }

  /// Counts and reports a finding.
  func add(_ finding: SalvageFinding) throws(StoreError) {
    report.findings[finding.kind, default: 0] += 1
    try note(finding)
  }

  func clientName(_ number: Int64) throws(StoreError) -> String? {
    try connection.text("SELECT name FROM client WHERE number = \(number)")
  }

  func laneName(_ number: Int64) throws(StoreError) -> String? {
    try connection.text("SELECT name FROM lane WHERE number = \(number)")
  }

  /// Notes the content of the new store.
  func count(envelopes: Int, waiting: Int, bodies: Int, tokens: CarriedTokens) {
    report.tokens = tokens
    report.envelopes = envelopes
    report.waiting = waiting
    report.bodies = bodies
  }
}

extension Optional {
  /// A `flatMap` whose function may throw.
  func flatMapThrowing<Result>(
    _ body: (Wrapped) throws(StoreError) -> Result?
  ) throws(StoreError) -> Result? {
    if let self { try body(self) } else { nil }
  }
}
