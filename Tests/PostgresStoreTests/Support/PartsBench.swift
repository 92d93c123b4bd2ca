#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore

/// A store, and a connection that does to its tables what nobody else does.
final class PartsBench {
  let bench: StoreBench
  private(set) var store: PostgresStore
  let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  init() throws {
    bench = try StoreBench()
    store = try bench.open()
  }

  /// Opens the store again, and waits until it has deleted what is left over.
  func restart() async throws {
    await store.close()
    store = try bench.open()
    // Each of these has its turn after one step of that.
    for _ in 0..<4 { _ = try await store.beginBody() }
  }

  @discardableResult
  func run(_ sql: StaticString) throws -> PostgresRows {
    var connection = try bench.database.connect()
    return try connection.run([PostgresCommand(sql)])[0]
  }

  func number(_ sql: StaticString) throws -> Int64 { try run(sql).int64(0, 0) }

  /// A post of a large body.
  func draft(_ number: Int, _ file: StoredBodyFile) -> EnvelopeDraft {
    var draft = StoreBench.draft(number)
    draft.content.body = .file(file)
    return draft
  }

  var act: AuditAct {
    AuditAct(at: now, who: "ops", role: "steer", action: "pause", subject: "a\0b")
  }

  var operation: Operation {
    Operation(.retry, EnvelopeSelection(), matched: 1, hasMore: false, who: "ops", at: now)
  }
}

extension PostgresStore {
  /// Writes a body.
  func write(_ bytes: [UInt8]) async throws -> StoredBodyFile {
    let writer = try await beginBody()
    try await writer.append(bytes)
    return try await writer.finish()
  }
}
#endif
