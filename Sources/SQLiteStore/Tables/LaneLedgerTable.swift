import RelayCore
import SQLite

/// The writer's statements on evidence lanes' ledgers, prepared once.
final class LaneLedgerStatements {
  private let insertEntry: Statement
  private let isOnRecord: Statement
  private let answer: Statement
  private let closeEntry: Statement
  private let forgetOld: Statement
  private let forgetMost: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insertEntry = try Statement(
      """
      INSERT INTO lane_ledger (at, lane, sequence, serial, digest, link) VALUES (?, ?, ?, ?, ?, ?)
      """, on: connection)
    isOnRecord = try Statement(
      "SELECT 1 FROM lane_ledger WHERE serial = ? AND state IS NULL", on: connection)
    answer = try Statement("SELECT body FROM response WHERE serial = ?", on: connection)
    closeEntry = try Statement(
      """
      UPDATE lane_ledger SET at = ?3, state = ended.state, status = \(Self.status), \
      response = ?2, ended_at = ended.ended_at FROM ended \
      WHERE ended.serial = lane_ledger.serial AND lane_ledger.serial = ?1
      """, on: connection)
    forgetOld = try Statement(
      """
      DELETE FROM lane_ledger WHERE number IN (SELECT number FROM lane_ledger \
      WHERE state IS NOT NULL AND at < ? ORDER BY at LIMIT ?)
      """, on: connection)
    forgetMost = try Statement(
      """
      DELETE FROM lane_ledger WHERE number IN (SELECT number FROM lane_ledger \
      WHERE state IS NOT NULL AND number <= (SELECT max(number) FROM lane_ledger) - ? \
      ORDER BY number LIMIT ?)
      """, on: connection)
  }

  /// The status of the answer to the last attempt; an end that no attempt made does not have it.
  fileprivate static let status = """
    CASE WHEN ended.attempt_number IS NULL THEN (SELECT status FROM attempt \
    WHERE attempt.serial = ended.serial ORDER BY number DESC LIMIT 1) \
    ELSE ended.attempt_status END
    """

  /// Adds an entry.
  func insert(_ new: NewLedgerEntry, at time: WallTime) throws(StoreError) {
    try insertEntry.run(
      time, new.lane, new.entry.number, new.serial, new.entry.digest, new.entry.link)
  }

  /// Notes how an envelope ended, before it is forgotten.
  ///
  /// - Parameter hash: nil while no receipts are made: the answer is not noted then.
  func close(_ serial: Serial, at time: WallTime, _ hash: ReceiptHash?) throws(StoreError) {
    guard try isOnRecord.hasRow(serial) else { return }
    let body = try answer.first(serial) { $0.bytes(0) }
    try closeEntry.run(serial, hash?(body ?? []), time)
  }

  /// Deletes entries that are not kept; whether none are left to delete.
  func forget(_ retention: ReceiptRetention, countMax: Int) throws(StoreError) -> Bool {
    try forgetOld.run(retention.since, countMax)
    let old = forgetOld.changeCount
    try forgetMost.run(retention.entriesMax, countMax)
    return max(old, forgetMost.changeCount) < countMax
  }
}

/// A reader's statements on evidence lanes' ledgers, prepared once.
final class LaneLedgerQueries {
  private let findLane: Statement
  private let store: Statement
  private let page: Statement
  private let answer: Statement
  private let mark: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    findLane = try Statement(
      """
      SELECT lane.number FROM lane JOIN client ON client.number = lane.client \
      WHERE client.name = ? AND lane.name = ?
      """, on: connection)
    store = try Statement("SELECT id FROM receipt_origin", on: connection)
    page = try Statement(
      """
      SELECT l.sequence, l.digest, l.link, l.state, l.status, l.ended_at, l.response, \
      ended.state, \(LaneLedgerStatements.status), ended.ended_at, l.serial \
      FROM lane_ledger AS l LEFT JOIN ended ON ended.serial = l.serial \
      WHERE l.lane = ? AND l.sequence BETWEEN ? AND ? AND (l.state IS NOT NULL \
      OR l.serial IN (SELECT serial FROM envelope)) ORDER BY l.sequence LIMIT ?
      """, on: connection)
    answer = try Statement("SELECT body FROM response WHERE serial = ?", on: connection)
    mark = try Statement(
      """
      SELECT l.sequence, l.digest, l.link, lane.name FROM lane_ledger AS l \
      JOIN lane ON lane.number = l.lane WHERE l.serial = ?
      """, on: connection)
  }

  /// Some entries of a lane; nil for a lane that is not known.
  func page(
    of lane: LaneName, _ numbers: ClosedRange<Int64>, countMax: Int, _ hash: ReceiptHash
  ) throws(StoreError) -> LedgerPage? {
    guard let number = try findLane.first(lane.client, lane.lane, read: { $0.lane(0) }) else {
      return nil
    }
    let id = try store.one(or: "a store without an identity") { $0.bytes(0) }
    page.set(number, numbers.lowerBound, numbers.upperBound, countMax)
    defer { page.reset() }
    var entries: [LedgerEntry] = []
    var bytesLeft = LedgerPage.answerBytesMax
    while bytesLeft > 0, try page.step() { entries.append(try entry(hash, &bytesLeft)) }
    return LedgerPage(store: id, entries: entries)
  }

  /// What the upstream is told of an envelope; nil if its lane has no ledger.
  func mark(of serial: Serial) throws(StoreError) -> EvidenceMark? {
    try mark.first(serial) { row in
      EvidenceMark(
        lane: row.text(3) ?? "", number: row.int(0), digest: row.bytes(1), link: row.bytes(2))
    }
  }

  /// The entry of the present row of ``page``.
  ///
  /// - Parameter bytesLeft: How many bytes of answers may still be read for the page.
  private func entry(
    _ hash: ReceiptHash, _ bytesLeft: inout Int
  ) throws(StoreError) -> LedgerEntry {
    var entry = LedgerEntry(
      number: page.int(0), digest: page.bytes(1), link: page.bytes(2), ending: nil)
    let isForgotten = !page.isNull(3)
    let first: Int32 = isForgotten ? 3 : 7
    guard !page.isNull(first) else { return entry }
    var digest = page.isNull(6) ? LedgerEntry.noDigest : page.bytes(6)
    if !isForgotten {
      let serial: Serial = page.int(10)
      let body = try answer.first(serial) { $0.bytes(0) } ?? []
      bytesLeft -= body.count
      digest = hash(body)
    }
    entry.ending = LedgerEntry.Ending(
      state: try EnvelopeState(endCode: page.int(first)), status: Int(page.int(first + 1)),
      responseDigest: digest, at: page.time(first + 2))
    return entry
  }
}
