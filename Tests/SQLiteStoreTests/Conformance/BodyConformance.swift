import Foundation
import RelayCore
import Testing

/// What every store promises of bodies that are too large to sit in memory.
@Suite("conformance: large bodies", .timeLimit(.minutes(1)))
struct BodyConformance {
  static func write(_ parts: [[UInt8]], to store: any EnvelopeStore) async throws -> StoredBodyFile
  {
    let writer = try await store.beginBody()
    for part in parts { try await writer.append(part) }
    return try await writer.finish()
  }

  @Test("a large body is kept in a file until its envelope is deleted", arguments: StoreFactory.all)
  func life(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let part = [UInt8](repeating: 7, count: 100_000)
      let file = try await Self.write([part, part], to: bench.store)
      #expect(file.byteCount == 200_000)
      let id = try await bench.accept(bench.draft(body: .file(file)))
      try await bench.reopen()
      let loaded = try #require(try await bench.store.load([id.serial]).first)
      guard case .file(let kept) = loaded.content.body else {
        throw Unexpected(description: "the body is not in a file")
      }
      #expect(kept.byteCount == 200_000)
      #expect(FileManager.default.contents(atPath: kept.path) == Data(part + part))
      #expect(bench.store.statistics().contentBytes > 200_000)
      try await bench.record(id, .end(.delivered, reason: ""))
      let record = try #require(try await bench.store.envelope(id))
      #expect(record.draft.content.body.byteCount == 200_000)
      let later = bench.clock.now.adding(milliseconds: 1)
      _ = try await bench.store.deleteEnded(
        RetentionCutoffs(delivered: later, failed: later), countMax: 10)
      #expect(bench.store.statistics().contentBytes == 0)
      await bench.store.close()
      #expect(!FileManager.default.fileExists(atPath: kept.path))
    }
  }

  @Test("a discarded body leaves nothing behind", arguments: StoreFactory.all)
  func discarded(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let writer = try await bench.store.beginBody()
      try await writer.append([1, 2, 3])
      writer.discard()
      await #expect(throws: StoreError.self) { try await writer.append([4]) }
      let finished = try await bench.store.beginBody()
      let file = try await finished.finish()
      #expect(FileManager.default.fileExists(atPath: file.path))
      finished.discard()
      await bench.store.close()
      #expect(!FileManager.default.fileExists(atPath: file.path))
    }
  }
}
