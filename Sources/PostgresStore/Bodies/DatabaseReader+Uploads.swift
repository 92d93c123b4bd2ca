#if PostgreSQL
import Postgres
import RelayCore

// Uploads. Each of these may be done twice, as the writing of pieces: a connection that is lost is
// made anew, and what it was asked is asked again.
extension DatabaseReader {
  /// Stores an upload, and its body without a byte.
  ///
  /// - Returns: What is stored under its id, or under its client's key.
  func begin(_ upload: Upload, body: [UInt8]) throws(StoreError) -> Upload? {
    let key = upload.terms.draft.key
    _ = try run([
      PostgresCommand(
        """
        WITH new AS (
          INSERT INTO upload (id, client, key, terms, length, bytes, touched_at, body)
          VALUES ($1, $2, $3, $4, $5, 0, $6, $7) ON CONFLICT DO NOTHING RETURNING body
        ), pending AS (INSERT INTO body_pending SELECT body, 'infinity'::timestamptz FROM new)
        INSERT INTO body_chunk SELECT body, 0, ''::bytea FROM new
        """,
        [
          .uuid(upload.id.bytes), .text(upload.client), .text(key), .bytes(upload.terms.stored),
          .int64(upload.length), .int64(upload.touchedAt.millisecondsSinceEpoch), .uuid(body),
        ])
    ])
    if let own = try self.upload(upload.id) { return own }
    guard let key else { return nil }
    return try self.upload(client: upload.client, key: key)
  }

  /// An upload; nil if there is none of this id.
  func upload(_ id: UploadID) throws(StoreError) -> Upload? {
    try uploads("id = $1", [.uuid(id.bytes)]).first
  }

  /// The upload that a client has under a key.
  func upload(client: String, key: String) throws(StoreError) -> Upload? {
    try uploads("client = $1 AND key = $2", [.text(client.storable), .text(key.storable)]).first
  }

  /// Uploads behind one, in the order in which they were begun.
  func uploads(
    of client: String?, after id: UploadID?, countMax: Int
  ) throws(StoreError) -> UploadPage {
    let behind = PostgresValue.uuid(id?.bytes ?? [UInt8](repeating: 0, count: 16))
    let limit = PostgresValue.int64(Int64(countMax) + 1)
    let found =
      if let client {
        try uploads(
          "client = $1 AND id > $2 ORDER BY id LIMIT $3", [.text(client.storable), behind, limit])
      } else {
        try uploads("id > $1 ORDER BY id LIMIT $2", [behind, limit])
      }
    return UploadPage(
      uploads: Array(found.prefix(countMax)), hasMore: found.count > countMax)
  }

  /// The uploads that are open; those whose first piece is lost are forgotten.
  func openUploads() throws(StoreError) -> [Upload] {
    _ = try run([
      PostgresCommand(
        """
        DELETE FROM upload WHERE envelope IS NULL AND NOT EXISTS (
          SELECT 1 FROM body_chunk WHERE body_chunk.body = upload.body AND n = 0)
        """)
    ])
    return try uploads("envelope IS NULL", [])
  }

  private func uploads(
    _ condition: StaticString, _ values: [PostgresValue]
  ) throws(StoreError) -> [Upload] {
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT id, terms, length, bytes, touched_at, envelope FROM upload WHERE \(condition)
          """, values)
    ])[0]
    var uploads: [Upload] = []
    for row in 0..<rows.count {
      guard let id = UploadID(bytes: rows.uuid(row, 0)),
        let terms = UploadTerms(stored: rows.bytes(row, 1))
      else { throw .invalidRow("an upload whose terms cannot be read") }
      var envelope: EnvelopeID?
      if let uuid = rows.uuidOrNil(row, 5) { envelope = try EnvelopeID(stored: uuid) }
      uploads.append(
        Upload(
          id: id, terms: terms, length: rows.int64OrNil(row, 2), offset: rows.int64(row, 3),
          touchedAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 4)), envelope: envelope))
    }
    return uploads
  }

  // MARK: - Pieces

  /// Takes the next turn of an open upload; nil if there is none of this id.
  func takeTurn(
    of id: UploadID
  ) throws(StoreError) -> (turn: Int64, body: [UInt8], byteCount: Int64)? {
    let rows = try run([
      PostgresCommand(
        """
        UPDATE upload SET turn = turn + 1 WHERE id = $1 AND envelope IS NULL
        RETURNING turn, body, bytes
        """, [.uuid(id.bytes)])
    ])[0]
    guard rows.count == 1 else { return nil }
    return (rows.int64(0, 0), rows.uuid(0, 1), rows.int64(0, 2))
  }

  /// Writes a piece of an upload; false if somebody else has taken a turn of it since.
  func write(
    chunk number: Int32, of id: UploadID, turn: Int64, _ bytes: [UInt8]
  ) throws(StoreError) -> Bool {
    try run([
      PostgresCommand(
        """
        WITH own AS (
          SELECT body FROM upload WHERE id = $1 AND turn = $2 AND envelope IS NULL FOR UPDATE)
        INSERT INTO body_chunk SELECT body, $3, $4 FROM own
        ON CONFLICT (body, n) DO UPDATE SET bytes = excluded.bytes
        """, [.uuid(id.bytes), .int64(turn), .int32(number), .bytes(bytes)])
    ])[0].affectedCount > 0
  }

  /// Deletes the pieces behind one.
  func drop(behind number: Int32, of id: UploadID, turn: Int64) throws(StoreError) {
    _ = try run([
      PostgresCommand(
        """
        WITH own AS (
          SELECT body FROM upload WHERE id = $1 AND turn = $2 AND envelope IS NULL FOR UPDATE)
        DELETE FROM body_chunk USING own WHERE body_chunk.body = own.body AND n > $3
        """, [.uuid(id.bytes), .int64(turn), .int32(number)])
    ])
  }

  /// Notes how many bytes are there; false if somebody else has taken a turn since.
  func note(
    _ id: UploadID, turn: Int64, byteCount: Int64, length: Int64?, at time: WallTime
  ) throws(StoreError) -> Bool {
    try run([
      PostgresCommand(
        """
        UPDATE upload SET bytes = $3, length = $4, touched_at = $5
        WHERE id = $1 AND turn = $2 AND envelope IS NULL
        """,
        [
          .uuid(id.bytes), .int64(turn), .int64(byteCount), .int64(length),
          .int64(time.millisecondsSinceEpoch),
        ])
    ])[0].affectedCount > 0
  }

  // MARK: - Ends

  /// Notes that an upload has become an envelope that has a body already.
  func settle(_ id: UploadID, as envelope: EnvelopeID) throws(StoreError) {
    _ = try run([
      PostgresCommand(
        """
        WITH settled AS (
          UPDATE upload SET envelope = $2, length = bytes WHERE id = $1 AND envelope IS NULL
          RETURNING body)
        SELECT drop_bodies(array_agg(body)) FROM settled HAVING count(*) > 0
        """, [.uuid(id.bytes), .uuid(envelope.bytes)])
    ])
  }

  /// Forgets uploads, and leaves the bodies of those that are open to be deleted.
  private func forget(
    _ condition: StaticString, _ values: [PostgresValue]
  ) throws(StoreError) -> PostgresRows {
    try run([
      PostgresCommand(
        sql: """
          WITH gone AS (DELETE FROM upload WHERE \(condition) RETURNING id, body, envelope),
          dropped AS (
            INSERT INTO body_pending
            SELECT body, '-infinity'::timestamptz FROM gone WHERE envelope IS NULL
            ON CONFLICT (body) DO UPDATE SET touched_at = excluded.touched_at)
          SELECT id FROM gone
          """, values)
    ])[0]
  }

  /// Forgets an upload.
  func forget(_ id: UploadID) throws(StoreError) {
    _ = try forget("id = $1", [.uuid(id.bytes)])
  }

  /// Uploads of which nothing has come since a time, the oldest first.
  func staleUploads(before time: WallTime, countMax: Int) throws(StoreError) -> [UploadID] {
    let rows = try run([
      PostgresCommand(
        "SELECT id FROM upload WHERE touched_at < $1 ORDER BY touched_at LIMIT $2",
        [.int64(time.millisecondsSinceEpoch), .int64(Int64(countMax))])
    ])[0]
    return (0..<rows.count).compactMap { UploadID(bytes: rows.uuid($0, 0)) }
  }

  /// Forgets those of some uploads of which nothing has come since a time.
  func forgetUploads(_ ids: [UploadID], before time: WallTime) throws(StoreError) -> [UploadID] {
    let rows = try forget(
      "touched_at < $1 AND id = ANY($2)",
      [.int64(time.millisecondsSinceEpoch), .uuids(ids.map(\.bytes))])
    return (0..<rows.count).compactMap { UploadID(bytes: rows.uuid($0, 0)) }
  }
}

extension PostgresCommand {
  /// Notes of the uploads whose bodies envelopes have taken that they have become these.
  static func complete(
    uploads bodies: [StoredBodyFile], as envelopes: [EnvelopeID]
  ) -> PostgresCommand {
    PostgresCommand(
      """
      UPDATE upload SET envelope = taken.envelope, length = bytes
      FROM unnest($1, $2) AS taken(body, envelope) WHERE upload.body = taken.body
      """, [.uuids(bodies.map(\.uuid)), .uuids(envelopes.map(\.bytes))])
  }
}
#endif
