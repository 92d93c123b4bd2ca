import RelayCore
import SQLite
import SQLitePages

/// A row whose number does not fit its place.
struct MisplacedRow {
  var record: StoredRecord
  var cell: BTreePage.Cell
  var shape: TableShape
  var page: Int
  /// Whether it is its page's only row, so that the whole page may be misplaced.
  var isAlone: Bool
  /// The numbers that would fit.
  var gap: RowRange

  /// The number in an envelope's id: that of its row, unless it was parked once.
  var numberInID: Int64? {
    guard shape.name == "envelope", let place = shape.place(of: "id"),
      place < record.values.count, let bytes = record.values[place].blob
    else { return nil }
    return RowRules.id(bytes)?.serial
  }

  /// Whether its id confirms its number.
  var hasNumberOfID: Bool { cell.row != nil && numberInID == cell.row }
}

// Rows with damaged numbers. Other rows know a row by its number, so a wrong number would take
// another envelope's place, or refer to it.
extension Salvage {
  /// Carries over rows whose numbers do not fit, once all others have their places.
  ///
  /// An envelope's number is in its id as well. For a row of another table nobody knows which
  /// envelope it belongs to; that envelope is treated as one whose row is lost.
  func carryOverMisplaced() throws(StoreError) {
    for row in misplaced {
      guard let number = try number(for: row) else {
        try lose(row.shape, page: row.page, "its number makes no sense", cell: row.cell)
        continue
      }
      var cell = row.cell
      cell.row = number
      try carryOver(row.record, cell, of: row.shape, page: row.page)
      guard number != row.cell.row else { continue }
      try add(
        SalvageFinding(
          kind: .row, table: row.shape.name, page: row.page, row: number,
          reason: "its number made no sense; it is back where its id says that it stood"))
    }
    misplaced = []
  }

  private func number(for row: MisplacedRow) throws(StoreError) -> Int64? {
    guard row.shape.name == "envelope" else { return row.isAlone ? row.cell.row : nil }
    let inID = row.numberInID
    let ordered = [inID.flatMap { row.gap.contains($0) ? $0 : nil }, row.cell.row, inID]
    for case let number? in ordered where number >= 0 && number <= EnvelopeID.serialMax {
      let isTaken = try connection.number("SELECT count(*) FROM envelope WHERE serial = \(number)")
      if isTaken == 0 { return number }
    }
    return nil
  }

  /// Makes envelopes that have moved findable by the number in their ids.
  ///
  /// A number in an id that no move explains is damaged; it is replaced by the row's own.
  ///
  /// An envelope moves to a greater number, and its former number is never given out again.
  func restoreMoves() throws(StoreError) {
    var wrong: [(id: EnvelopeID, serial: Int64)] = []
    let row = try Statement("SELECT serial, id FROM envelope", on: connection)
    while try row.step() {
      if let id = RowRules.id(row.bytes(1)), id.serial != row.int(0) {
        wrong.append((id, row.int(0)))
      }
    }
    for (id, serial) in wrong {
      let known = try connection.number(
        "SELECT count(*) FROM moved WHERE serial = \(id.serial) AND place = \(serial)")
      guard known == 0 else { continue }
      let others = try connection.number(
        "SELECT count(*) FROM envelope WHERE serial = \(id.serial)")
      if id.serial < serial, id.serial > 0, others == 0 {
        try connection.execute("INSERT OR REPLACE INTO moved VALUES (\(id.serial), \(serial))")
        try noteID(id, serial, "its id is not that of its place; it is found by it again")
      } else {
        let mended = id.renumbered(serial)
        let update = try Statement("UPDATE envelope SET id = ? WHERE serial = ?", on: connection)
        try update.run(mended.bytes, serial)
        try noteID(mended, serial, "its id was damaged; it has its row's number in it again")
      }
    }
  }

  private func noteID(_ id: EnvelopeID, _ serial: Int64, _ reason: String) throws(StoreError) {
    try add(
      SalvageFinding(
        kind: .row, table: "envelope", row: serial, id: id, acceptedAt: id.acceptedAt,
        reason: reason))
  }
}

extension EnvelopeID {
  /// The same id with another serial.
  func renumbered(_ serial: Int64) -> EnvelopeID {
    EnvelopeID(
      high: high, low: low & ~(UInt64(Self.serialMax) << 22) | UInt64(serial) << 22)
  }
}
