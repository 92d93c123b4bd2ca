#if PostgreSQL
import Postgres
import RelayCore

// Pieces of large bodies. Each of these may be done twice: a connection that is lost is made anew,
// and what it was asked is asked again.
extension DatabaseReader {
  /// Writes a piece; false if the body has been deleted since its first one.
  func write(chunk number: Int32, of body: [UInt8], _ bytes: [UInt8]) throws(StoreError) -> Bool {
    let touch =
      number == 0
      ? """
      INSERT INTO body_pending VALUES ($1, now())
      ON CONFLICT (body) DO UPDATE SET touched_at = now() RETURNING body
      """
      : "UPDATE body_pending SET touched_at = now() WHERE body = $1 RETURNING body"
    let rows = try run([
      PostgresCommand(
        sql: """
          WITH touched AS (\(touch))
          INSERT INTO body_chunk SELECT body, $2, $3 FROM touched
          ON CONFLICT (body, n) DO UPDATE SET bytes = excluded.bytes
          """, [.uuid(body), .int32(number), .bytes(bytes)])
    ])[0]
    return rows.affectedCount > 0
  }

  /// Deletes a body, unless an envelope refers to it.
  func discard(body: [UInt8]) throws(StoreError) {
    _ = try run([
      PostgresCommand(
        """
        WITH gone AS (DELETE FROM body_pending WHERE body = $1 RETURNING body)
        DELETE FROM body_chunk USING gone WHERE body_chunk.body = gone.body
        """, [.uuid(body)])
    ])
  }

  /// Deletes some bodies that no envelope refers to, and that nobody has touched for long.
  ///
  /// - Returns: Whether there may be more of them.
  func sweepBodies() throws(StoreError) -> Bool {
    let rows = try run([
      PostgresCommand(
        """
        WITH gone AS (
          DELETE FROM body_pending WHERE body IN (
            SELECT body FROM body_pending
            WHERE touched_at < now() - $1 * interval '1 second'
            LIMIT $2 FOR UPDATE SKIP LOCKED
          ) RETURNING body
        ), pieces AS (
          DELETE FROM body_chunk USING gone WHERE body_chunk.body = gone.body
        )
        SELECT count(*) FROM gone
        """, [.int64(limits.bodyOrphanAgeS), .int64(limits.bodiesSweptMax)])
    ])[0]
    return rows.int64(0, 0) == limits.bodiesSweptMax
  }

  /// A part of a body; only the last one is shorter than asked for.
  ///
  /// - Throws: ``StoreError`` if it has been deleted, or has become shorter.
  func bytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) throws(StoreError) -> [UInt8] {
    let size = Int64(StoredBodyFile.chunkBytes)
    let begin = max(0, min(offset, file.byteCount))
    let end = min(file.byteCount, begin + Int64(max(0, countMax)))
    let uuid = file.uuid
    // The first piece that holds something of it; of no bytes, one that there is.
    let first = max(0, min(begin, file.byteCount - 1)) / size
    let last = max(first, (end - 1) / size)
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT substr(bytes, skipped::int + 1, greatest(wanted - skipped, 0)::int)
          FROM body_chunk, LATERAL (
            SELECT greatest($4 - n::bigint * \(size), 0), least($5 - n::bigint * \(size), \(size))
          ) AS part(skipped, wanted)
          WHERE body = $1 AND n BETWEEN $2 AND $3 ORDER BY n
          """,
        [
          .uuid(uuid), .int32(Int32(truncatingIfNeeded: first)),
          .int32(Int32(truncatingIfNeeded: last)), .int64(begin), .int64(end),
        ])
    ])[0]
    guard rows.count > 0 else { throw .bodyGone(uuid, operation: "read") }
    var bytes: [UInt8] = []
    for row in 0..<rows.count { bytes += rows.bytes(row, 0) }
    guard bytes.count == end - begin else {
      throw StoreError(
        kind: .corrupt, operation: "read", subject: "the body \(file.path)",
        detail: "\(bytes.count) of its bytes are there from \(begin) to \(end).")
    }
    return bytes
  }
}
#endif
