#if PostgreSQL
import Foundation
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

@Suite(
  "A store that is moved", .timeLimit(.minutes(2)),
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct MoveTests {
  private let stand: MoveStand

  init() throws { stand = try MoveStand() }

  @Test("each column of each table comes back from the database as it was")
  func everyColumn() throws {
    try MovedContent.make(in: stand.folder("a"))
    let before = try stand.rows(of: "a")
    let kinds = try StoreCheck.run(folder: stand.folder("a")).findings.map(\.kind)
    try stand.moveIn(from: "a")
    let report = try stand.moveOut(to: "b")
    let after = try stand.rows(of: "b")
    for table in Migration.tables where MovedContent.apart[table] == nil {
      #expect(after[table] == before[table], "\(table)")
      try expectNothingLeftOut(of: before[table] ?? [], table)
    }
    #expect(report.rows[.bodyChunk] == 3)
    let body = stand.folder("b") + "/bodies/" + MovedContent.bodyName
    #expect(FileManager.default.contents(atPath: body) == Data(MovedContent.body))
    // What such rows lack anyway, and nothing else.
    #expect(try StoreCheck.run(folder: stand.folder("b")).findings.map(\.kind) == kinds)
  }

  /// Each column has a value other than 0 and NULL in one of the rows: else it would be equal
  /// whether it was moved or not.
  private func expectNothingLeftOut(of rows: [String], _ table: String) throws {
    var filled: [String: Bool] = [:]
    for row in rows {
      for value in row.split(separator: " ") where value.contains("=") {
        let parts = value.split(separator: "=", maxSplits: 1)
        let isFilled = parts.count == 2 && !["NULL", "0", "X''", "''"].contains(parts[1])
        filled[String(parts[0]), default: false] = filled[String(parts[0])] == true || isFilled
      }
    }
    // No envelope is blocked, and nothing expired or was cancelled.
    let allowed: Set = ["blocked", "expired", "cancelled", "delivered", "delays"]
    let empty = filled.filter { !$0.value && !allowed.contains($0.key) }.keys
    #expect(!rows.isEmpty && empty.isEmpty, "\(table): \(empty.sorted())")
  }

  /// Tables of a database that belong to the process that has the store, or follow from others; and
  /// uploads, which are begun anew.
  private static let ofProcess: Set = [
    "schema_version", "seat", "seat_commit", "kept_counts", "relay", "shard", "counted",
    "ended_log",
    "body_pending",
    "store_move", "upload",
  ]
  /// Columns that follow from others, or belong to a process.
  private static let derived: [MovedTable: Set<String>] = [
    .given: ["is_only"], .eventOrigin: ["is_only"], .receiptOrigin: ["is_only"], .client: ["shard"],
    .line: ["shard"],
    .ended: ["shard", "client", "lane", "upstream", "accepted_at", "bytes"],
    .formerKey: ["client"], .checksIn: ["last"], .audit: ["process"], .history: ["process"],
    .operation: ["process", "is_discarded"],
  ]

  @Test("each table and column of a database is moved, or is known not to be")
  func everyColumnOfDatabase() throws {
    let there = try stand.columnsOfDatabase()
    let tables = Set(MovedTable.allCases.map(\.rawValue))
    #expect(Set(there.keys).subtracting(Self.ofProcess) == tables)
    for table in MovedTable.allCases {
      let moved = Set(table.columns.map(\.name)).union(Self.derived[table] ?? [])
      #expect(there[table.rawValue] == moved, "\(table.rawValue)")
    }
  }

  @Test(
    "a move that is cut off begins anew, and one that lacks only its end is finished",
    arguments: [
      FailingTarget.Step.insert(.envelope), .insert(.eventLog), .settle, .open,
    ])
  func cutOff(step: FailingTarget.Step) throws {
    try MovedContent.make(in: stand.folder("a"))
    let before = try stand.rows(of: "a")
    let inwards = #expect(throws: StoreError.self) {
      try stand.moveIn(from: "a") { FailingTarget($0, at: step) }
    }
    #expect(inwards?.detail.hasPrefix(FailingTarget.failure.detail) == true)
    #expect(inwards?.detail.contains("Run the same command again") == true)
    let isAtEnd = if case .open = step { true } else { false }
    #expect(try stand.moveIn(from: "a").isResumed == isAtEnd)
    let outwards = #expect(throws: StoreError.self) {
      try stand.moveOut(to: "b") { FailingTarget($0, at: step) }
    }
    #expect(outwards?.detail.hasPrefix(FailingTarget.failure.detail) == true)
    #expect(throws: StoreError.self, "no relay starts on a half") {
      try SQLiteStore.open(folder: stand.folder("b"))
    }
    #expect(try stand.moveOut(to: "b").isResumed == isAtEnd)
    let after = try stand.rows(of: "b")
    for table in Migration.tables where MovedContent.apart[table] == nil {
      #expect(after[table] == before[table], "\(table)")
    }
  }

  @Test("what is kept in parts is added up: lanes' counts, and the history of several processes")
  func addedUp() throws {
    try MovedContent.make(in: stand.folder("a"))
    var log = EndedLog()
    log.append(lane: LaneNumber(rawValue: 3), endCode: 1, isDeletion: false)
    log.append(lane: LaneNumber(rawValue: 2), endCode: 2, isDeletion: true)
    let path = DataFolder.database(in: stand.folder("a"))
    try Connection(path: path, access: .readWrite).execute(
      "INSERT INTO ended_log VALUES (1, x'\(Hexadecimal.encode(log.entries))')")
    try stand.moveIn(from: "a")
    var connection = try stand.database.connect()
    try connection.execute(
      script: """
        INSERT INTO ended_log (lanes, states, changes) VALUES ('{3,3,2}', '{1,4,2}', '{5,7,-1}');
        INSERT INTO history VALUES (1, 30000000, 9, 10, 20, 30, 40, ''),
          (1, 30000001, 9, 1, 1, 1, 5, ''), (1, 30000002, 0, 0, 0, 0, 0, '')
        """)
    try stand.moveOut(to: "b")
    let rows = try stand.rows(of: "b")
    #expect(
      rows["lane"]?.contains {
        $0.contains("number=3") && $0.contains("=6 failed=1 expired=0 cancelled=7")
      } == true)
    #expect(
      rows["lane"]?.contains { $0.contains("number=2") && $0.contains("delivered=3 failed=2") }
        == true)
    let history = rows["history"]?.filter { $0.hasPrefix("upstream=1") }.map {
      $0.split(separator: " ").dropFirst().dropLast().map { $0.split(separator: "=")[1] }
        .joined(separator: " ")
    }
    #expect(history == ["30000000 11 21 31 41", "30000001 1 1 1 6", "30000002 0 0 0 5"])
  }

  @Test("a half of one store's move is not written over by another store's")
  func anotherHalf() throws {
    try MovedContent.make(in: stand.folder("a"))
    try MovedContent.make(in: stand.folder("other"))
    _ = try? stand.moveIn(from: "a") { FailingTarget($0, at: .open) }
    let refusal = #expect(throws: StoreError.self) { try stand.moveIn(from: "other") }
    #expect(refusal?.detail.contains("a move into it from \(stand.folder("a"))") == true)
    #expect(try stand.moveIn(from: "a").isResumed)
  }

  @Test("what was written otherwise than it was read ends the move, and the source is as it was")
  func altered() throws {
    try MovedContent.make(in: stand.folder("a"))
    let refusal = #expect(throws: StoreError.self) {
      try stand.moveIn(from: "a") { FailingTarget($0, at: .alter(.keyIndex)) }
    }
    #expect(refusal?.detail.contains("differ from those that were read") == true)
    #expect(try stand.moveIn(from: "a").isResumed == false)
  }

  @Test("a move is not finished where somebody has deleted what was moved")
  func deleted() throws {
    try MovedContent.make(in: stand.folder("a"))
    try stand.moveIn(from: "a")
    _ = try? stand.moveOut(to: "b") { FailingTarget($0, at: .open) }
    try FileManager.default.removeItem(
      atPath: DataFolder.database(in: stand.folder("b")) + ".part")
    let refusal = #expect(throws: StoreError.self) { try stand.moveOut(to: "b") }
    #expect(refusal?.detail.contains("is not there any more") == true)
  }

  @Test("a quarantined envelope is not moved")
  func quarantined() throws {
    try MovedContent.make(in: stand.folder("a"))
    let path = DataFolder.database(in: stand.folder("a"))
    try Connection(path: path, access: .readWrite)
      .execute("INSERT INTO quarantine VALUES (10, zeroblob(16), 1, 2, 3, 1, 2, 0, 3, 'bad')")
    let refusal = #expect(throws: StoreError.self) { try stand.moveIn(from: "a") }
    #expect(refusal?.detail.contains("1 of its waiting envelopes are quarantined") == true)
  }
}
#endif
