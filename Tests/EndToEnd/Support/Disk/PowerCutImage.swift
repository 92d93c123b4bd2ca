import Foundation
import RelayCore
import SQLite

@testable import SQLiteStore

/// A disk as a power cut may have left it, opened with the real store and held to what was told.
struct PowerCutImage {
  /// Something that was promised and is not so.
  struct Broken: Error, CustomStringConvertible {
    let description: String
  }

  private struct Row {
    var id: String
    var client: String
    var key: String
    var path: String
    var body: [UInt8]?
    var file: (name: String, bytes: Int)?
    var standing: Int64?
    var end: Int64?
    var serial: Int64
  }

  let data: String
  let facts: PowerCutFacts
  /// The keys under which envelopes were posted, by their ids.
  let keys: [String: String]

  /// Opens the store, looks at everything, posts once more, and closes it.
  func check() async throws {
    // A cut may come before there is anything: a relay that starts then begins anew.
    try FileManager.default.createDirectory(
      atPath: (data as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    let store = try SQLiteStore.open(folder: data)
    store.start(observer: Nobody())
    do {
      try checkTables(store)
      try await checkStore(store)
    } catch {
      await store.close()
      throw error
    }
    await store.close()
  }

  // MARK: - What stands there

  private func checkTables(_ store: SQLiteStore) throws {
    let reader = try Reader(
      database: DataFolder.database(in: data),
      bodies: BodyFiles(
        folder: data + "/bodies", room: DiskRoom(folder: data, limits: DiskLimits())))
    let integrity = try reader.connection.text("PRAGMA integrity_check")
    try hold(integrity == "ok", "the database is damaged: \(integrity ?? "")")
    let rows = try rows(reader)
    let byID = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
    for row in rows { try check(row) }
    try checkAcknowledged(byID)
    try checkOrder(rows)
    try checkCounts(rows, store.statistics())
    try checkPauses(reader)
    try checkFiles(rows, try checkUploads(reader))
  }

  private func hold(_ isTrue: Bool, _ broken: @autoclosure () -> String) throws {
    if !isTrue { throw Broken(description: broken()) }
  }

  private func rows(_ reader: Reader) throws -> [Row] {
    let statement = try Statement(
      """
      SELECT e.id, c.name, e.key, e.target, e.body, b.name, b.bytes, q.standing, d.state, e.serial
      FROM envelope AS e JOIN client AS c ON c.number = e.client
      JOIN lane AS l ON l.number = e.lane AND l.client = e.client
      LEFT JOIN body_file AS b ON b.serial = e.serial
      LEFT JOIN line AS q ON q.serial = e.serial LEFT JOIN ended AS d ON d.serial = e.serial
      ORDER BY e.serial
      """, on: reader.connection)
    var rows: [Row] = []
    while try statement.step() {
      rows.append(
        Row(
          id: try EnvelopeID(stored: statement.bytes(0)).description,
          client: statement.text(1) ?? "", key: statement.text(2) ?? "",
          path: String(decoding: statement.bytes(3), as: UTF8.self),
          body: statement.isNull(4) ? nil : statement.bytes(4),
          file: statement.text(5).map { ($0, Int(statement.int(6))) },
          standing: statement.optionalInt(7), end: statement.optionalInt(8),
          serial: statement.int(9)))
    }
    return rows
  }

  /// Nothing is half there.
  private func check(_ row: Row) throws {
    try hold(
      (row.standing == nil) != (row.end == nil), "\(row.key) both waits and has ended, or neither")
    let expected = PowerCutPost.body(ofKey: row.key)
    if let file = row.file {
      let stored = FileManager.default.contents(atPath: "\(data)/bodies/\(file.name)")
      try hold(
        stored.map { [UInt8]($0) } == expected && file.bytes == expected.count,
        "the body of \(row.key) is not what was posted, in a file")
    } else {
      try hold(row.body == expected, "the body of \(row.key) is not what was posted")
    }
  }

  private func checkAcknowledged(_ rows: [String: Row]) throws {
    for id in facts.accepted {
      guard let row = rows[id] else {
        try hold(mayBeForgotten(keys[id]), "\(keys[id] ?? id) was acknowledged, and is lost")
        continue
      }
      // Whoever was cut off with the answer on its way does not know the id.
      let key = keys[id] ?? row.key
      if PowerCutPost.version(ofKey: key) == nil {
        try hold(row.key == key, "\(id) was acknowledged as \(key), and is \(row.key)")
      } else {
        let version = PowerCutPost.version(ofKey: row.key) ?? 0
        try hold(version >= facts.version, "version \(facts.version) was acknowledged")
      }
      if facts.corrected.contains(id) {
        try hold(row.path.hasSuffix(PowerCutPost.correction), "a correction is lost")
      }
      if let state = facts.ended[id] {
        try hold(
          row.end.map { try? EnvelopeState(endCode: $0).rawValue } == state,
          "\(key) was shown as \(state), and is not")
      }
      if facts.isCleared, row.client == "cleared" {
        try hold(row.end != nil, "\(key) was cancelled, and waits")
      }
    }
  }

  /// The last process forgets what was delivered before it began.
  private func mayBeForgotten(_ key: String?) -> Bool {
    guard facts.startCount >= 3 else { return false }
    guard let key else { return true }
    let path = "/" + key.replacing(":", with: "/")
    return facts.attemptedPaths.contains { $0 == path || $0.hasPrefix(path + "/") }
      || PowerCutPost.version(ofKey: key) != nil
  }

  /// What waits is in order, and comes behind everything that was attempted before.
  private func checkOrder(_ rows: [Row]) throws {
    var last: [String: Int] = [:]
    for row in rows where row.standing == 0 {
      guard let place = PowerCutPost.place(ofPath: row.path) else { continue }
      try hold(
        (last[place.client] ?? -1) < place.index, "\(row.path) is not in order in its lane")
      last[place.client] = place.index
      try hold(
        (facts.attempted[place.client] ?? 0) <= place.index,
        "\(row.path) waits, though one behind it was attempted")
    }
  }

  private func checkCounts(_ rows: [Row], _ statistics: StoreStatistics) throws {
    for state in EnvelopeState.ends {
      let count = rows.filter { $0.end == state.endCode }.count
      try hold(
        statistics.envelopes[state] == Int64(count), "\(state): counted \(count), said otherwise")
    }
    let waiting = rows.filter { $0.standing != nil }.count
    let said = statistics.envelopes.filter { !$0.key.isEnd }.values.reduce(0, +)
    try hold(said == Int64(waiting), "\(waiting) wait, and \(said) are said to")
  }

  private func checkPauses(_ reader: Reader) throws {
    let clear = try reader.connection.number(
      "SELECT count(*) FROM paused AS p JOIN client AS c ON c.number = p.number"
        + " WHERE c.name = 'cleared'")
    if facts.pauseCount >= 2 { try hold(clear == 1, "a pause is lost") }
    let versions = try reader.connection.number(
      "SELECT count(*) FROM paused AS p JOIN client AS c ON c.number = p.number"
        + " WHERE c.name = '\(PowerCutPost.versions)'")
    if facts.resumeCount >= 1 { try hold(versions == 0, "a resumption is lost") }
  }

  /// What was announced of uploads is there.
  ///
  /// - Returns: The files of those that are open.
  private func checkUploads(_ reader: Reader) throws -> [String] {
    for (location, offset) in facts.uploads {
      let id = UploadID(parsing: String(location.dropFirst("/v1/uploads/".count)))
      guard let id, let found = try reader.uploads.find(id) else {
        throw Broken(description: "\(location) was announced, and is lost")
      }
      try hold(
        found.upload.offset >= offset, "\(offset) of \(location) were announced, and are lost")
    }
    return try reader.uploads.allOpen().map { upload, file in
      let expected = PowerCutPost.body(ofKey: upload.terms.draft.key ?? "")
      let stored = FileManager.default.contents(atPath: "\(data)/bodies/\(file)") ?? Data()
      let count = Int(upload.offset)
      try hold(
        stored.prefix(count).elementsEqual(expected.prefix(count)),
        "of the first \(count) bytes of an upload some are lost, or others")
      return file
    }
  }

  /// Each file belongs to an envelope or to an upload: what a cut has left over was swept.
  private func checkFiles(_ rows: [Row], _ uploads: [String]) throws {
    let known = Set(rows.compactMap { $0.file?.name } + uploads)
    let found = Set(try FileManager.default.contentsOfDirectory(atPath: data + "/bodies"))
    try hold(known == found, "bodies: \(known.count) known, \(found.count) found")
  }

  // MARK: - What it answers

  private func checkStore(_ store: SQLiteStore) async throws {
    let span = try await store.eventLogSpan()
    try hold(facts.toldThrough <= span.end, "events were told that the log does not have")
    var greatest: Int64 = 0
    for id in facts.accepted { greatest = max(greatest, EnvelopeID(parsing: id)?.serial ?? 0) }
    for id in facts.accepted.sorted().suffix(5) {
      guard let parsed = EnvelopeID(parsing: id), let record = try await store.envelope(parsed)
      else { continue }
      // The sender never saw the answer, and posts it again.
      guard PowerCutPost.version(ofKey: record.draft.key ?? "") == nil,
        !facts.corrected.contains(id)
      else { continue }
      let again = try await store.append([record.draft], isAtomic: false)
      guard case .duplicate(parsed, _) = again[0] else {
        throw Broken(description: "\(record.draft.key ?? "") is not known again: \(again)")
      }
    }
    let draft = EnvelopeDraft(
      client: "fresh", lane: "default", upstream: "default",
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([])),
      expiresAt: WallTime(millisecondsSinceEpoch: 4_000_000_000_000))
    let fresh = try await store.append([draft], isAtomic: false)
    guard case .accepted(let id, _, _) = fresh[0], id.serial > greatest else {
      throw Broken(description: "a fresh one was not taken, or under an old number: \(fresh)")
    }
  }
}

/// Is told of commits, and does nothing about them.
private final class Nobody: StoreObserver {
  func committed(_ commit: Commit, answer: (CommitPositions) -> Void) {
    var positions = CommitPositions()
    for change in commit.changes {
      switch change {
      case .accepted(let envelopes): positions.accepted = envelopes.map { _ in 1 }
      case .coalesced(let envelopes): positions.coalesced = envelopes.map { _ in nil }
      case .changed, .unwritten, .endsChanged, .cleared: break
      }
    }
    answer(positions)
  }
  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool { true }
  func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    SparedEnvelopes(inFlight: [], changing: [])
  }
  func released(_ reservations: Reservations) {}
}
