#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "uploads in a database", .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct UploadTests {
  private func begin(_ store: PostgresStore) async throws -> Upload {
    let time = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
    let terms = UploadTerms(draft: StoreBench.draft(1), said: [1], digest: nil)
    return try await store.beginUpload(
      Upload(id: UploadID(at: time, random: (1, 2)), terms: terms, length: nil, at: time))
  }

  @Test("who goes on with one writes alone: who had it before can write no more")
  func turns() async throws {
    let bench = try StoreBench()
    let store = try bench.open(QuietObserver())
    let upload = try await begin(store)
    let bytes = [UInt8](repeating: 7, count: 300_000)
    let frozen = try #require(try await store.resumeUpload(upload.id))
    let next = try #require(try await store.resumeUpload(upload.id))
    try await next.append(bytes)
    try await next.sync(length: nil, at: upload.touchedAt)
    await #expect(throws: StoreError.self) {
      try await frozen.append([UInt8](repeating: 9, count: 300_000))
    }
    await #expect(throws: StoreError.self) {
      try await frozen.sync(length: nil, at: upload.touchedAt)
    }
    #expect(try await store.upload(upload.id)?.offset == 300_000)
    let body = next.body
    #expect(try await store.bodyBytes(of: body, from: 0, countMax: 400_000) == bytes)
    // Nor can who had it last, once an envelope has its bytes.
    var draft = StoreBench.draft(1)
    draft.content.body = .file(
      StoredBodyFile(path: body.path, byteCount: body.byteCount, checksum: 5))
    _ = try await store.append([draft], isAtomic: false)
    await #expect(throws: StoreError.self) { try await next.append(bytes) }
    #expect(try await store.upload(upload.id)?.envelope != nil)
    await store.close()
  }

  @Test("their bytes are never left over for their age, and go when they are given up")
  func pending() async throws {
    let bench = try StoreBench()
    let store = try bench.open(QuietObserver())
    let upload = try await begin(store)
    var connection = try bench.database.connect()
    let pending = PostgresCommand(
      "SELECT count(*) FROM body_pending WHERE touched_at = 'infinity'")
    #expect(try connection.run([pending])[0].int64(0, 0) == 1)
    try await store.deleteUpload(upload.id)
    #expect(try connection.run([pending])[0].int64(0, 0) == 0)
    await store.close()
    let pieces = PostgresCommand("SELECT count(*) FROM body_chunk")
    #expect(try connection.run([pieces])[0].int64(0, 0) == 0)
  }
}
#endif
