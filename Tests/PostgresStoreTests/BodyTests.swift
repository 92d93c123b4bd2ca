#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "large bodies in PostgreSQL",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct BodyTests {
  @Test("bodies that nobody refers to are deleted a day after their last piece, and no others")
  func orphans() async throws {
    let bench = try PartsBench()
    let kept = try await bench.store.write([1])
    _ = try await bench.store.append([bench.draft(1, kept)], isAtomic: false)
    for _ in 0..<9 { _ = try await bench.store.write([UInt8](repeating: 7, count: 300_000)) }
    #expect(try bench.number("SELECT count(*) FROM body_chunk") == 19)
    try bench.run("UPDATE body_pending SET touched_at = now() - interval '25 hours'")
    _ = try await bench.store.write([2])
    try await bench.restart()
    #expect(try bench.number("SELECT count(*) FROM body_chunk") == 2)
    #expect(try await bench.store.bodyBytes(of: kept, from: 0, countMax: 9) == [1])
    await bench.store.close()
  }

  @Test("a post of a body that has been deleted is refused alone; so is the rest of that body")
  func gone() async throws {
    let bench = try PartsBench()
    let store = bench.store
    let writer = try await store.beginBody()
    try await writer.append([UInt8](repeating: 7, count: 256 << 10))
    let gone = try await store.write([1])
    let kept = try await store.write([2])
    try bench.run(
      """
      WITH gone AS (
        DELETE FROM body_pending WHERE body IN (SELECT body FROM body_chunk WHERE bytes <> '\\x02')
        RETURNING body)
      DELETE FROM body_chunk USING gone WHERE gone.body = body_chunk.body
      """)
    let drafts = [bench.draft(1, gone), bench.draft(2, kept)]
    let accepted = Task { try await store.append([drafts[1]], isAtomic: false).count }
    await #expect(throws: StoreError.self) {
      try await store.append([drafts[0]], isAtomic: false)
    }
    #expect(try await accepted.value == 1)
    try await writer.append([3])
    await #expect(throws: StoreError.self) { _ = try await writer.finish() }
    #expect(try bench.number("SELECT count(*) FROM body_chunk") == 1)
    // Nothing is logged of what was refused, and no row is left out for it.
    #expect(try await store.eventLogSpan().end == EventPosition(row: 2, index: 0))
    await store.close()
  }

  @Test("a body of which a bit has changed is told, and so is one that lacks a piece")
  func changed() async throws {
    let bench = try PartsBench()
    let file = try await bench.store.write([UInt8](repeating: 7, count: 600_000))
    try bench.run(
      "UPDATE body_chunk SET bytes = set_bit(bytes, 9, 1 - get_bit(bytes, 9)) WHERE n = 1")
    let error = await #expect(throws: StoreError.self) {
      try await bench.store.checkBody(in: file)
    }
    #expect(error?.kind == .corrupt)
    try bench.run("DELETE FROM body_chunk WHERE n = 1")
    let other = await #expect(throws: StoreError.self) {
      try await bench.store.bodyBytes(of: file, from: 0, countMax: 600_000)
    }
    #expect(other?.kind == .inputOutput || other?.kind == .corrupt)
    let stranger = StoredBodyFile(path: "/somewhere", byteCount: 1)
    await #expect(throws: StoreError.self) {
      try await bench.store.bodyBytes(of: stranger, from: 0, countMax: 1)
    }
    await bench.store.close()
  }
}
#endif
