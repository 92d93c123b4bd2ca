import RelayCore
import SQLite

/// The uploads, as the writer keeps them.
final class UploadStatements {
  private let insertRow: Statement
  private let noteRow: Statement
  private let completeRow: Statement
  private let settleRow: Statement
  private let deleteRow: Statement
  private let deleteOld: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    insertRow = try Statement(
      """
      INSERT INTO upload (id, client, key, terms, length, offset, touched_at, file) \
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
      """, on: connection)
    noteRow = try Statement(
      """
      UPDATE upload SET offset = ?2, length = ?3, touched_at = ?4 \
      WHERE id = ?1 AND envelope IS NULL
      """, on: connection)
    completeRow = try Statement(
      """
      UPDATE upload SET length = offset, \
      envelope = (SELECT id FROM envelope WHERE serial = ?2) WHERE file = ?1
      """, on: connection)
    settleRow = try Statement(
      """
      UPDATE upload SET length = offset, envelope = ?2 WHERE id = ?1 AND envelope IS NULL \
      RETURNING file
      """, on: connection)
    // The column itself: SQLite 3.40 takes `envelope IS NULL` for false in what is returned, as if
    // it were the first column, which is never NULL.
    deleteRow = try Statement(
      "DELETE FROM upload WHERE id = ? RETURNING file, envelope", on: connection)
    deleteOld = try Statement(
      "DELETE FROM upload WHERE id = ?1 AND touched_at < ?2 RETURNING file, envelope",
      on: connection)
  }

  /// Stores an upload; false if its client has one under the same key.
  func insert(_ upload: Upload, file: String) throws(StoreError) -> Bool {
    try insertRow.run(
      upload.id.bytes, upload.client, upload.terms.draft.key, upload.terms.stored, upload.length,
      upload.offset, upload.touchedAt, file)
    return insertRow.changeCount > 0
  }

  /// Notes how much is on disk; false if there is no such upload that is open.
  func note(
    _ id: UploadID, offset: Int64, length: Int64?, at time: WallTime
  ) throws(StoreError) -> Bool {
    try noteRow.run(id.bytes, offset, length, time)
    return noteRow.changeCount > 0
  }

  /// Notes that a file has become the body of an envelope.
  func complete(file: String, as serial: Serial) throws(StoreError) {
    try completeRow.run(file, serial)
  }

  /// Notes that an open upload has become an envelope that has a body already.
  ///
  /// - Returns: The file that nobody needs any more; nil if there is none.
  func settle(_ id: UploadID, as envelope: EnvelopeID) throws(StoreError) -> String? {
    try settleRow.rows(id.bytes, envelope) { $0.text(0) ?? "" }.first
  }

  /// Forgets an upload.
  ///
  /// - Returns: The file that nobody needs any more; nil if there is none.
  func delete(_ id: UploadID) throws(StoreError) -> String? {
    let rows = try deleteRow.rows(id.bytes) { $0.isNull(1) ? $0.text(0) : nil }
    return rows.first ?? nil
  }

  /// Forgets those of which nothing has come since a time, and lists the files that nobody needs
  /// any more.
  func delete(
    _ ids: [UploadID], before time: WallTime, into files: inout [String]
  ) throws(StoreError) -> [UploadID] {
    var forgotten: [UploadID] = []
    for id in ids {
      let rows = try deleteOld.rows(id.bytes, time) { $0.isNull(1) ? $0.text(0) : nil }
      guard let row = rows.first else { continue }
      forgotten.append(id)
      if let file = row { files.append(file) }
    }
    return forgotten
  }
}

/// The uploads, as the readers see them.
final class UploadQueries {
  private let one: Statement
  private let ofKey: Statement
  private let open: Statement
  private let all: Statement
  private let ofClient: Statement
  private let old: Statement

  private static let columns = "id, terms, length, offset, touched_at, envelope, file"

  init(on connection: borrowing Connection) throws(StoreError) {
    one = try Statement("SELECT \(Self.columns) FROM upload WHERE id = ?", on: connection)
    ofKey = try Statement(
      "SELECT \(Self.columns) FROM upload WHERE client = ? AND key = ?", on: connection)
    open = try Statement(
      "SELECT \(Self.columns) FROM upload WHERE envelope IS NULL", on: connection)
    all = try Statement(
      "SELECT \(Self.columns) FROM upload WHERE id > ? ORDER BY id LIMIT ?", on: connection)
    ofClient = try Statement(
      "SELECT \(Self.columns) FROM upload WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
      on: connection)
    old = try Statement(
      "SELECT id FROM upload WHERE touched_at < ? ORDER BY touched_at LIMIT ?", on: connection)
  }

  /// Uploads behind one, in the order in which they were begun.
  func page(
    of client: String?, after id: UploadID?, countMax: Int
  ) throws(StoreError) -> UploadPage {
    let behind = id?.bytes ?? []
    let (rows, hasMore) =
      if let client {
        try ofClient.page(client, behind, countMax: countMax, read: Self.read)
      } else {
        try all.page(behind, countMax: countMax, read: Self.read)
      }
    return UploadPage(uploads: rows.map(\.upload), hasMore: hasMore)
  }

  /// An upload with the name of its file.
  func find(_ id: UploadID) throws(StoreError) -> (upload: Upload, file: String)? {
    try one.first(id.bytes, read: Self.read)
  }

  /// The upload that a client has under a key.
  func find(client: String, key: String) throws(StoreError) -> (upload: Upload, file: String)? {
    try ofKey.first(client, key, read: Self.read)
  }

  /// All that are open.
  func allOpen() throws(StoreError) -> [(upload: Upload, file: String)] {
    try open.rows(read: Self.read)
  }

  /// Those of which nothing has come since a time, the oldest first.
  func stale(before time: WallTime, countMax: Int) throws(StoreError) -> [UploadID] {
    try old.rows(time, countMax) { UploadID(bytes: $0.bytes(0)) }.compactMap(\.self)
  }

  private static func read(
    _ row: borrowing Statement
  ) throws(StoreError) -> (upload: Upload, file: String) {
    guard let id = UploadID(bytes: row.bytes(0)), let terms = UploadTerms(stored: row.bytes(1))
    else { throw .invalidRow("an upload whose terms cannot be read") }
    let upload = Upload(
      id: id, terms: terms, length: row.optionalInt(2), offset: row.int(3),
      touchedAt: row.time(4), envelope: row.isNull(5) ? nil : try row.id(5))
    return (upload, row.text(6) ?? "")
  }
}
