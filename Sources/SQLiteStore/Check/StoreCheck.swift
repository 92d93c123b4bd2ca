import EventLoop
import Glibc
import RelayCore
import SQLite
import SQLitePages

/// Checks whether a store is sound, without changing anything in it, also beside a running relay.
///
/// The whole database is read as of one moment. That takes as long as reading it all does.
/// Meanwhile a busy relay's log cannot start over: it grows by what is written.
package final class StoreCheck {
  private let folder: String
  private let database: String
  private var verdict = StoreVerdict()

  private init(folder: String) {
    self.folder = folder
    database = DataFolder.database(in: folder)
  }

  /// Checks the store in a folder.
  ///
  /// - Throws: ``StoreError`` if it cannot be checked at all: there is none, it is of a newer
  ///   version, or it may not be read.
  package static func run(folder: String) throws(StoreError) -> StoreVerdict {
    let check = StoreCheck(folder: folder)
    try check.checkFiles()
    return check.verdict
  }

  // MARK: - Files

  private func checkFiles() throws(StoreError) {
    guard access(folder, R_OK | X_OK) == 0 else {
      throw StoreError(errno: errno, operation: "check the store in", subject: folder)
    }
    guard DataFolder.size(ofFile: database) > 0 else {
      let hasLog = DataFolder.size(ofFile: database + "-wal") > 0
      guard StoreMarker.exists(in: folder) || hasLog else {
        throw StoreError(
          kind: .other, operation: "check", subject: folder, detail: "there is no store in it.")
      }
      return verdict.add(
        "database-missing", "A store was kept here, and its database is gone or empty.", [database])
    }
    let image = try checkImage()
    if let version = try newerVersion(of: image) {
      throw StoreError(
        kind: .newerSchema, operation: "check", subject: database,
        detail: "a newer Waystation wrote it (schema \(version); this one knows up to "
          + "\(Migration.latest)). Check it with that version.")
    }
    // SQLite would take the damage as the log's end, and note that in its index: what is behind it
    // would then look like the rest of failed commits, to a salvage as well.
    guard verdict.isInUse || image.loss == nil else { return }
    do throws(StoreError) {
      try checkDatabase()
    } catch {
      guard error.kind == .corrupt || image.hasHeader == false else { throw error }
      verdict.add("unreadable", "SQLite cannot go on with it.", [error.detail])
    }
  }

  private func checkImage() throws(StoreError) -> DatabaseImage {
    // While nobody writes, the log can be read without meeting a half-written frame.
    var lock: FolderLock?
    do throws(StoreError) {
      lock = try FolderLock(reading: folder)
    } catch {
      guard error.kind == .inUse else { throw error }
      verdict.isInUse = true
    }
    defer { withExtendedLifetime(lock) {} }
    let image = try DatabaseImage(ofStoreIn: folder)
    verdict.pages = image.pageCount
    verdict.pageBytes = image.pageBytes
    guard !verdict.isInUse else { return image }
    checkHeader(of: image)
    if image.missingPages > 0 {
      verdict.add(
        "cut-off", "The file is shorter than it was.", ["\(image.missingPages) pages missing"],
        count: image.missingPages)
    }
    checkLog(of: image)
    return image
  }

  private func checkLog(of image: DatabaseImage) {
    guard let loss = image.loss else { return }
    let dropped =
      "SQLite would drop acknowledged commits after the damage. 'store salvage' reads it."
    let missing = "Acknowledged commits are missing. 'store salvage' reads what is left."
    let (meaning, example) =
      switch loss {
      case .beginning: (dropped, "its beginning is lost")
      case .commits(let count): (dropped, "\(count) commits after a damaged frame")
      case .end(let pages): (missing, "its end is lost: \(pages) pages written last are missing")
      case .latest(let commits):
        (
          missing,
          "its end is lost, or an older copy is in its place: \(commits) commits are missing"
        )
      }
    verdict.add("log-damaged", meaning, [example], count: max(1, image.logImage.damagedFrames))
  }

  /// A file that can be read may be one that SQLite does not write into, so no relay starts on it.
  private func checkHeader(of image: DatabaseImage) {
    guard image.hasHeader, let first = image.page(1) else { return }
    // Both say whether there is a log; https://www.sqlite.org/fileformat2.html#the_database_header
    let formats = [first[18], first[19]]
    guard !formats.allSatisfy({ (1...2).contains($0) }) else { return }
    verdict.add(
      "header-damaged", "No relay starts on such a file. 'store salvage' reads it.",
      ["the file's format is said to be \(formats[0]) and \(formats[1])"])
  }

  private func newerVersion(of image: DatabaseImage) throws(StoreError) -> Int64? {
    guard image.hasHeader, let first = image.page(1) else { return nil }
    let version = Int64(Int32(truncatingIfNeeded: first.number32(at: 60)))
    guard version > Migration.latest,
      Int64(first.number32(at: 68)) == DatabaseFile.applicationID
    else { return nil }
    return version
  }

  // MARK: - The database

  private func checkDatabase() throws(StoreError) {
    let connection = try Connection(path: database, access: .readOnly)
    try connection.execute("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768")
    try connection.execute("BEGIN")
    checkIntegrity(connection)
    verdict.schemaVersion = try connection.number("PRAGMA user_version")
    verdict.pages = Int(try connection.number("PRAGMA page_count"))
    guard try connection.number("PRAGMA application_id") == DatabaseFile.applicationID else {
      return verdict.add(
        "not-ours", "The file does not say that it is a store of Waystation's.", [database])
    }
    guard verdict.schemaVersion == Migration.latest else {
      // Its rows are checked once a start has brought it up to date.
      return
    }
    checkRows(connection)
    verdict.envelopes = try? connection.number("SELECT count(*) FROM envelope")
    verdict.waiting = try? connection.number("SELECT count(*) FROM line")
    verdict.bodies = try? connection.number("SELECT count(*) FROM body_file")
    try connection.execute("COMMIT")
    note("body-file-missing") { () throws(StoreError) in try checkBodies(connection) }
  }

  private func checkIntegrity(_ connection: borrowing Connection) {
    var messages: [String] = []
    do throws(StoreError) {
      let row = try Statement("PRAGMA integrity_check(1000)", on: connection)
      while try row.step() {
        guard let message = row.text(0), message != "ok" else { continue }
        messages += message.split(separator: "\n").map(String.init)
      }
    } catch {
      messages.append(error.detail)
    }
    verdict.add(
      "integrity", "SQLite finds pages or indexes that make no sense.", messages)
  }

  private func checkRows(_ connection: borrowing Connection) {
    for rule in StoreRule.all {
      do throws(StoreError) {
        let examples = try Self.texts(rule.sql, connection)
        verdict.add(rule.kind, rule.meaning, examples.first, count: examples.count)
      } catch {
        verdict.add(
          "not-checked", "A table cannot be read.", ["\(rule.kind): \(error.detail)"])
      }
    }
    note("values") { () throws(StoreError) in try checkEnvelopes(connection) }
    note("checksums") { () throws(StoreError) in try checkContents(connection) }
    note("values") { () throws(StoreError) in try checkEvents(connection) }
    note("texts") { () throws(StoreError) in try checkTexts(connection) }
    note("lane-counts") { () throws(StoreError) in try checkLaneCounts(connection) }
    note("searches") { () throws(StoreError) in try checkSearches(connection) }
  }

  /// Runs one part; if it cannot be run, that is a finding.
  private func note(_ what: String, _ body: () throws(StoreError) -> Void) {
    do throws(StoreError) {
      try body()
    } catch {
      verdict.add("not-checked", "A table cannot be read.", ["\(what): \(error.detail)"])
    }
  }

  private static func texts(
    _ sql: String, _ connection: borrowing Connection
  ) throws(StoreError) -> (first: [String], count: Int) {
    let row = try Statement(sql, on: connection)
    var first: [String] = []
    var count = 0
    while try row.step() {
      count += 1
      if first.count < StoreVerdict.examplesMax { first.append(row.text(0) ?? "") }
    }
    return (first, count)
  }

  private func checkEnvelopes(_ connection: borrowing Connection) throws(StoreError) {
    var faults: [String] = []
    var lostMoves: [String] = []
    let row = try Statement("SELECT serial, id, headers FROM envelope", on: connection)
    let moved = try Statement("SELECT place FROM moved WHERE serial = ?", on: connection)
    while try row.step() {
      guard let id = RowRules.id(row.bytes(1)), HeaderBlock(stored: row.bytes(2)) != nil else {
        faults.append("\(row.int(0))")
        continue
      }
      guard id.serial != row.int(0) else { continue }
      let place = try moved.first(id.serial) { $0.int(0) }
      if place != row.int(0) { lostMoves.append("\(id)") }
    }
    verdict.add("invalidRow-envelope", "Their id or their headers make no sense.", faults)
    verdict.add("id-leads-nowhere", "They are not found by their id.", lostMoves)
  }

  private func checkContents(_ connection: borrowing Connection) throws(StoreError) {
    var changed: [String] = []
    try ContentSums.forEachChanged(on: connection) { row in
      changed.append(Self.name(of: row.id, row.serial))
    }
    verdict.add(
      "content-changed", "Bytes of them have changed since they were accepted; they are not sent.",
      changed)
  }

  /// The name by which an operator finds an envelope: its id, or its row's number if that is lost.
  private static func name(of id: EnvelopeID?, _ serial: Serial) -> String {
    id.map { "\($0)" } ?? "row \(serial)"
  }

  private func checkEvents(_ connection: borrowing Connection) throws(StoreError) {
    var faults: [String] = []
    let row = try Statement("SELECT number, entries FROM event_log", on: connection)
    while try row.step() {
      if !EventEntries.isWhole(row.bytes(1)) { faults.append("\(row.int(0))") }
    }
    verdict.add("invalidRow-events", "Those who listen to events do not get past them.", faults)
  }

  /// SQLite accepts any bytes as text.
  private func checkTexts(_ connection: borrowing Connection) throws(StoreError) {
    var faults: [String] = []
    for shape in try TableShape.all(of: connection) {
      let texts = shape.columns.filter { $0.type == "TEXT" }.map(\.name)
      guard let first = shape.columns.first, !texts.isEmpty else { continue }
      let columns = ([first.name] + texts).map { "\"\($0)\"" }.joined(separator: ", ")
      let row = try Statement("SELECT \(columns) FROM \"\(shape.name)\"", on: connection)
      while try row.step() {
        let isFault = texts.indices.contains { !row.isUTF8(Int32($0 + 1)) }
        if isFault { faults.append("\(shape.name) \(row.text(0) ?? "")") }
      }
    }
    verdict.add("invalidRow-text", "They hold texts that are not UTF-8.", faults)
  }

  private func checkLaneCounts(_ connection: borrowing Connection) throws(StoreError) {
    var counts: [Int64: [Int64]] = [:]
    let ends = StoreCounts.ends
    let columns = ends.map(\.column).joined(separator: ", ")
    let kept = try Statement("SELECT number, \(columns) FROM lane", on: connection)
    while try kept.step() {
      counts[kept.int(0)] = ends.indices.map { kept.int(Int32($0 + 1)) }
    }
    let log = try Statement("SELECT entries FROM ended_log", on: connection)
    while try log.step() {
      EndedLog.forEach(in: log.bytes(0)) { lane, end, difference in
        counts[lane]?[end] += difference
      }
    }
    let real = try Statement(
      """
      SELECT e.lane, d.state, count(*) FROM ended AS d JOIN envelope AS e ON e.serial = d.serial \
      GROUP BY e.lane, d.state
      """, on: connection)
    while try real.step() {
      guard let end = ends.firstIndex(where: { $0.code == real.int(1) }) else { continue }
      counts[real.int(0)]?[end] -= real.int(2)
    }
    let wrong = counts.filter { $0.value.contains { $0 != 0 } }.keys.sorted()
    verdict.add(
      "lane-counts-differ", "The counts of a lane are not those of its rows.",
      wrong.map { "lane \($0)" })
  }

  private func checkSearches(_ connection: borrowing Connection) throws(StoreError) {
    var faults: [String] = []
    let blocks = try Statement("SELECT number, entries, terms FROM search_block", on: connection)
    let row = try Statement(
      "SELECT serial, client, tag FROM envelope WHERE serial BETWEEN ? AND ?", on: connection)
    while try blocks.step() {
      let stored = blocks.bytes(2)
      guard let block = SearchBlock(stored: stored), Int64(block.count) == blocks.int(1) else {
        faults.append("stretch \(blocks.int(0))")
        continue
      }
      let range = SearchBlock.range(of: blocks.int(0))
      row.set(range.lowerBound, range.upperBound)
      while try row.step() {
        let terms = [SearchTerm(client: row.int(1)), row.text(2).map { SearchTerm(tag: $0) }]
        let isNamed = terms.compactMap { $0 }.allSatisfy {
          SearchBlock.has($0, at: row.int(0), in: stored)
        }
        if !isNamed { faults.append("\(row.int(0))") }
      }
    }
    verdict.add(
      "not-found-by-search", "Searches by client or tag leave them out; they are delivered.",
      faults)
  }

  // MARK: - Bodies

  private func checkBodies(_ connection: borrowing Connection) throws(StoreError) {
    let row = try Statement("SELECT serial, name, bytes FROM body_file", on: connection)
    let again = try Statement("SELECT bytes FROM body_file WHERE serial = ?", on: connection)
    var wrong: [(serial: Int64, text: String)] = []
    while try row.step() {
      let path = "\(folder)/bodies/\(row.text(1) ?? "")"
      if access(path, F_OK) != 0 {
        wrong.append((row.int(0), "\(row.int(0)): \(path) is missing"))
      } else if DataFolder.size(ofFile: path) != row.int(2) {
        wrong.append(
          (row.int(0), "\(row.int(0)): \(path) has not the \(row.int(2)) bytes that it should"))
      }
    }
    // Beside a running relay an envelope may have been delivered and deleted since.
    var texts: [String] = []
    for body in wrong where try again.hasRow(body.serial) { texts.append(body.text) }
    var changed: [String] = []
    try ContentSums.forEachChangedFile(on: connection, in: folder) { serial, id in
      changed.append(Self.name(of: id, serial))
    }
    verdict.add(
      "body-file-changed", "Bytes of their bodies have changed; they are not sent.", changed)
    verdict.add(
      "body-file-missing", "Their bodies are lost or cut off; they cannot be delivered.", texts)
  }
}
