import Foundation
import RelayCore
import SQLiteStore
import StoreModel
import Testing

/// What every store promises of bodies that are too large to sit in memory.
@Suite("conformance: large bodies", .timeLimit(.minutes(5)))
struct BodyConformance {
  /// Bytes of which none stands where another one could.
  static func bytes(_ count: Int) -> [UInt8] {
    var state: UInt64 = 7
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
  }

  @Test("a large body is kept until its envelope is deleted", arguments: StoreFactory.all)
  func life(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let bytes = Self.bytes(200_000)
      let file = try await bench.store.write([
        Array(bytes[..<100_001]), Array(bytes[100_001...]),
      ])
      #expect(file.byteCount == 200_000)
      let id = try await bench.accept(bench.draft(body: .file(file)))
      try await bench.reopen()
      let loaded = try #require(try await bench.planned.load([id.serial]).first)
      guard case .file(let kept) = loaded.content.body else {
        throw Unexpected(description: "the body is not in a file")
      }
      #expect(kept == file)
      #expect(try await bench.store.bytes(of: kept) == bytes)
      try await bench.store.checkBody(in: kept)
      #expect(bench.planned.statistics().contentBytes > 200_000)
      try await bench.record(id, .end(.delivered, reason: ""))
      let record = try #require(try await bench.planned.envelope(id))
      #expect(record.draft.content.body == .file(file))
      try await deleteAll(bench)
      #expect(bench.planned.statistics().contentBytes == 0)
      try await bench.reopen()
      await isGone(file, bench)
    }
  }

  private func deleteAll(_ bench: Bench) async throws {
    let later = bench.clock.now.adding(milliseconds: 1)
    _ = try await bench.planned.deleteEnded(
      RetentionCutoffs(delivered: later, failed: later), countMax: 10)
  }

  private func isGone(_ file: StoredBodyFile, _ bench: Bench) async {
    await bench.store.waitUntilSwept()
    let error = await #expect(throws: StoreError.self) {
      try await bench.store.bodyBytes(of: file, from: 0, countMax: 1)
    }
    #expect(error.map { $0.kind != .closed && $0.kind != .corrupt } == true)
    if bench.planned is SQLiteStore {
      #expect(!FileManager.default.fileExists(atPath: file.path))
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
      #expect(try await bench.store.bytes(of: file).isEmpty)
      finished.discard()
      try await bench.reopen()
      await isGone(file, bench)
    }
  }

  @Test("any part of a body can be read", arguments: StoreFactory.all)
  func parts(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let chunk = 256 << 10
      for count in [1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 5] {
        let bytes = Self.bytes(count)
        let file = try await bench.store.write([
          Array(bytes.prefix(7)), [], Array(bytes.dropFirst(7)),
        ])
        #expect(file.byteCount == count)
        for offset in [0, 1, chunk - 1, chunk, chunk + 1, count - 1, count] {
          guard offset <= count else { continue }
          for most in [1, chunk, chunk + 2, 4 * chunk] {
            let part = try await bench.store.bodyBytes(
              of: file, from: Int64(offset), countMax: most)
            #expect(part == Array(bytes[offset...].prefix(most)), "\(count) \(offset) \(most)")
          }
        }
        try await bench.store.checkBody(in: file)
      }
    }
  }

  @Test(
    "a body that is exchanged goes, and one that stays is kept", arguments: StoreFactory.all)
  func exchanged(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.store.write([[7, 7]])
      let id = try await bench.accept(bench.draft(body: .file(first)))
      try await bench.record(id, .end(.failed, reason: "so"))
      try await correct(id, bench, .file(first))
      try await deleteNothing(bench)
      #expect(try await bench.store.bytes(of: first) == [7, 7])
      let second = try await bench.store.write([[8]])
      try await correct(id, bench, .file(second))
      try await deleteNothing(bench)
      await isGone(first, bench)
      #expect(try await bench.store.bytes(of: second) == [8])
      try await correct(id, bench, .inline([9]))
      try await deleteNothing(bench)
      await isGone(second, bench)
      let content = try await bench.planned.envelope(id)?.draft.content
      #expect(content?.body == .inline([9]))
      #expect(
        bench.planned.statistics().contentBytes == content?.byteCount)
    }
  }

  private func correct(_ id: EnvelopeID, _ bench: Bench, _ body: EnvelopeBody) async throws {
    let record = try #require(try await bench.planned.envelope(id))
    var content = record.draft.content
    content.body = body
    let edit = EnvelopeEdit(
      content: content, tag: nil, entry: record.entry, notBefore: nil, hold: false)
    #expect(try await bench.planned.correctEnded(edit))
  }

  /// Has the store do what it does now and then.
  private func deleteNothing(_ bench: Bench) async throws {
    let never = WallTime(millisecondsSinceEpoch: 0)
    _ = try await bench.planned.deleteEnded(
      RetentionCutoffs(delivered: never, failed: never), countMax: 10)
    try await bench.reopen()
  }
}
