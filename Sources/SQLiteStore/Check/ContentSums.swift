import RelayCore
import SQLite

/// Checks all envelopes, and finds those that are not as accepted.
enum ContentSums {
  /// An envelope whose bytes have changed.
  struct Changed {
    let serial: Serial
    let id: EnvelopeID?
    let client: String?
    let lane: String?
  }

  /// Calls `body` with each envelope whose row does not have its checksum.
  static func forEachChanged(
    on connection: borrowing Connection, _ body: (Changed) throws(StoreError) -> Void
  ) throws(StoreError) {
    let row = try rows("coalesce(s.upstream, e.upstream)", "e.checksum IS NOT NULL", on: connection)
    while try row.step() {
      let id = RowRules.id(row.bytes(1))
      if let id, let sum = sum(of: row, id), sum == row.int(11) { continue }
      try body(
        Changed(serial: row.int(0), id: id, client: row.text(14), lane: row.text(15)))
    }
  }

  /// Calls `body` with each envelope of which two rows name different upstreams, and with whether
  /// its own row is right, as its checksum says, and not its place in the line.
  static func forEachDoubtedUpstream(
    on connection: borrowing Connection, _ body: (Serial, Bool) throws(StoreError) -> Void
  ) throws(StoreError) {
    let row = try rows("e.upstream", "s.upstream <> e.upstream", on: connection)
    while try row.step() {
      let sum = RowRules.id(row.bytes(1)).flatMap { Self.sum(of: row, $0) }
      try body(row.int(0), sum != nil && sum == row.optionalInt(11))
    }
  }

  private static func rows(
    _ upstream: String, _ condition: String, on connection: borrowing Connection
  ) throws(StoreError) -> Statement {
    try Statement(
      """
      SELECT e.serial, e.id, e.client, e.lane, \(upstream), e.key, e.method, \
      e.target, e.headers, e.body, e.has_references, e.checksum, f.bytes, f.checksum, c.name, \
      l.name FROM envelope AS e LEFT JOIN line AS s ON s.serial = e.serial \
      LEFT JOIN body_file AS f ON f.serial = e.serial LEFT JOIN client AS c ON c.number = e.client \
      LEFT JOIN lane AS l ON l.number = e.lane WHERE \(condition)
      """, on: connection)
  }

  /// Calls `body` with the number and id of each envelope whose body file has changed bytes.
  ///
  /// A missing file, or one of another length, is skipped.
  static func forEachChangedFile(
    on connection: borrowing Connection, in folder: String,
    _ body: (Serial, EnvelopeID?) throws(StoreError) -> Void
  ) throws(StoreError) {
    let row = try Statement(
      """
      SELECT f.serial, f.name, f.bytes, f.checksum, e.id FROM body_file AS f \
      LEFT JOIN envelope AS e ON e.serial = f.serial WHERE f.checksum IS NOT NULL
      """, on: connection)
    while try row.step() {
      let file = StoredBodyFile(
        path: "\(folder)/bodies/\(row.text(1) ?? "")", byteCount: row.int(2),
        checksum: row.int(3))
      guard DataFolder.size(ofFile: file.path) == file.byteCount else { continue }
      if try hasChanged(file) { try body(row.int(0), RowRules.id(row.bytes(4))) }
    }
  }

  private static func hasChanged(_ file: StoredBodyFile) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try file.presentChecksum() != file.checksum
    } catch {
      // Beside a running relay the file may be deleted at any moment.
      if try DataFolder.sizeIfThere(ofFile: file.path) == nil { return false }
      throw error
    }
  }

  private static func sum(of row: borrowing Statement, _ id: EnvelopeID) -> Int64? {
    guard let headers = HeaderBlock(stored: row.bytes(8)) else { return nil }
    let body: EnvelopeBody =
      row.isNull(9)
      ? .file(
        StoredBodyFile(path: "", byteCount: row.int(12), checksum: row.optionalInt(13)))
      : .inline(row.bytes(9))
    let content = EnvelopeContent(
      method: row.text(6) ?? "", target: row.bytes(7), headers: headers, body: body)
    return content.checksum(
      of: id, client: row.client(2), lane: row.lane(3),
      upstream: row.upstream(4),
      key: row.text(5), references: row.bool(10))
  }
}
