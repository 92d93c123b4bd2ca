import EventLoop
import Glibc
import RelayCore
import SQLite

/// A data folder that is moved into.
///
/// The database is made under another name (``CopyFolder``), and gets its own last.
package final class SQLiteMoveTarget: MoveTarget {
  /// See ``MovedRows``.
  package let place: String
  private let path: String
  private var writing: SQLiteMoveWriting?
  /// Where what is moved comes from.
  private var source = ""

  /// Names a folder; nothing is made yet.
  package init(folder path: String) throws(StoreError) {
    place = try MovePlace.absolute(path)
    self.path = path
  }

  /// See ``MovedRows``.
  package func mark() throws(StoreError) -> MoveMark? { try MoveFile.read(in: path) }

  /// See ``MovedRows``.
  package func origin() throws(StoreError) -> Int64? {
    try SQLiteRows.origin(of: DataFolder.database(in: path))
  }

  /// See ``MoveTarget``.
  package func requireFree() throws(StoreError) { try CopyFolder.requireFree(path) }

  /// See ``MoveTarget``.
  package func begin(_ mark: MoveMark) throws(StoreError) {
    source = mark.place
    try told { () throws(StoreError) in
      writing = try SQLiteMoveWriting(to: try CopyFolder.claim(path), mark)
    }
  }

  /// See ``MoveTarget``.
  package func insert(_ rows: [MovedRow], into table: MovedTable) throws(StoreError) {
    try told { () throws(StoreError) in try begun.insert(rows, into: table) }
  }

  /// See ``MoveTarget``.
  package func settle() throws(StoreError) {
    try told { () throws(StoreError) in try begun.settle() }
  }

  /// See ``MoveTarget``.
  package func damage() throws(StoreError) -> String? {
    try StoreRule.damageOfMoved(try Connection(path: part, access: .readOnly))
  }

  private var part: String { DataFolder.database(in: path) + ".part" }

  /// Tells errors as they are for somebody who moves: rows that make no sense came from the source.
  private func told(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try body()
    } catch {
      var error = error.ofMove
      error.detail = error.detail.replacing(
        StoreError.corruptAdvice, with: "It came from \(source).")
      throw error
    }
  }

  /// See ``MovedRows``.
  package func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError) {
    var rows = SQLiteRows(
      of: try Connection(path: part, access: .readOnly), bodies: path + "/bodies",
      advice: "It came so from \(source). Start the relay on that and cancel it, or give it new "
        + "content; then move.")
    try rows.forEachBatch(of: table, body)
    lostCount += rows.changedCount
  }

  /// The number of ended envelopes whose bodies are lost.
  package private(set) var lostCount = 0

  /// See ``MoveTarget``.
  package func open() throws(StoreError) {
    // Released first: a move that is only finished takes the same lock.
    writing = nil
    let folder = try DataFolder.claim(path)
    if access(part, F_OK) == 0 {
      try DatabaseFile.name(folder.database, part: part, in: path)
    }
    guard DataFolder.size(ofFile: folder.database) > 0 else {
      throw StoreError(
        kind: .corrupt, operation: "finish the move to", subject: path,
        detail: "what was moved is not there any more. Reopen the source by 'waystation store "
          + "reopen', and move it to another folder.")
    }
    StoreMarker.write(in: path)
    try MoveFile.remove(in: path)
  }

  private var begun: SQLiteMoveWriting {
    guard let writing else { preconditionFailure("it has not begun") }
    return writing
  }
}

/// The database and the bodies while they are written.
private final class SQLiteMoveWriting {
  private let folder: CopyFolder
  private let connection: Connection
  private var statements: [MovedTable: [SharedStatement]] = [:]
  private var body: FileDescriptor?
  private var bodyPath = ""
  private var blocks: SearchBlocks

  init(to folder: consuming CopyFolder, _ mark: MoveMark) throws(StoreError) {
    try MoveFile.write(mark, in: folder.path)
    try DatabaseFile.prepare(
      path: folder.part, pageBytes: StoreTuning.pageBytes, isToBeLogged: false)
    connection = try Connection(path: folder.part, access: .readWrite)
    try connection.skipLog()
    try connection.execute("BEGIN")
    blocks = SearchBlocks(store: try SharedStatement(SearchBlocks.insertion, on: connection))
    self.folder = folder
  }

  func insert(_ rows: [MovedRow], into table: MovedTable) throws(StoreError) {
    guard table != .bodyChunk else {
      for row in rows { try append(row) }
      return
    }
    let own: [SharedStatement]
    if let known = statements[table] {
      own = known
    } else {
      var made: [SharedStatement] = []
      for sql in table.insertions { made.append(try SharedStatement(sql, on: connection)) }
      statements[table] = made
      own = made
    }
    for row in rows {
      var row = row
      if table == .envelope {
        row.append(.integer(try SQLiteRows.checksum(of: row)))
        try blocks.note(row)
      }
      for shared in own {
        for index in 0..<min(shared.statement.parameterCount, Int32(row.count)) {
          shared.statement.bind(index + 1, row[Int(index)])
        }
        try shared.statement.run()
      }
    }
  }

  // MARK: - Bodies

  private func append(_ row: MovedRow) throws(StoreError) {
    guard let name = row[0].bytes, let bytes = row[2].bytes else { return }
    if row[1].integer == 0 {
      try endBody()
      bodyPath = "\(folder.bodies)/\(Hexadecimal.encode(name))"
      body = try FileDescriptor.open(bodyPath, O_WRONLY | O_CREAT | O_EXCL, to: "create")
    }
    guard body != nil else { throw .invalidRow("a body without a first piece") }
    try body?.write(bytes, to: bodyPath)
  }

  private func endBody() throws(StoreError) {
    try body?.sync(bodyPath)
    body = nil
  }

  // MARK: - What follows from the rows

  func settle() throws(StoreError) {
    try endBody()
    try blocks.finish(lastSerial: connection.number("SELECT last_serial FROM ledger"))
    try connection.execute(
      """
      UPDATE client SET lane_count = (SELECT count(*) FROM lane WHERE lane.client = client.number);
      UPDATE ledger SET (\(StoreCounts.columns)) = (\(StoreCounts.selection));
      UPDATE ledger SET last_accepted_at = max(\
      (SELECT coalesce(max(accepted_at), 0) FROM line), \
      (SELECT coalesce(max(ended_at), 0) FROM ended), \
      (SELECT coalesce(max(started_at), 0) FROM attempt));
      COMMIT
      """)
    try connection.settle(part: folder.part)
    try DataFolder.sync(folder: folder.bodies)
    try DataFolder.sync(folder: folder.path)
  }
}

/// The index for searches, made along with the envelopes.
private struct SearchBlocks {
  static let insertion = "INSERT INTO search_block VALUES (?, ?, ?)"

  private let store: SharedStatement
  private var number: Int64?
  private var block = SearchBlock()

  init(store: SharedStatement) { self.store = store }

  mutating func note(_ row: MovedRow) throws(StoreError) {
    let serial = row[0].integer ?? 0
    let own = SearchBlock.number(of: serial)
    if own != number {
      try write()
      (number, block) = (own, SearchBlock())
    }
    block.append(SearchTerm(client: row[Self.client].integer ?? 0), at: serial)
    if let tag = row[Self.tag].text { block.append(SearchTerm(tag: tag), at: serial) }
  }

  private static let client = MovedTable.envelope.place(of: "client")
  private static let tag = MovedTable.envelope.place(of: "tag")

  /// Writes the last block, unless it is the one that the next envelope belongs to.
  mutating func finish(lastSerial: Serial) throws(StoreError) {
    if number != SearchBlock.number(of: lastSerial) { try write() }
  }

  private func write() throws(StoreError) {
    guard let number, let bytes = block.stored() else { return }
    store.statement.set(number, Int64(bytes.count / SearchBlock.entryBytes))
    try store.statement.runBorrowing(3, bytes)
  }
}
