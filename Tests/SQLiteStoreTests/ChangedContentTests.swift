import Foundation
import RelayCore
import SQLite
import Testing

@testable import SQLiteStore

/// Bits that flip in what was accepted, where neither SQLite nor any rule sees it.
@Suite("SQLite store: changed content", .timeLimit(.minutes(5)))
struct ChangedContentTests {
  private func change(_ bench: Bench, _ sql: String) async throws {
    try await (try #require(bench.store as? SQLiteStore)).write("damage") {
      writer throws(StoreError) in
      try writer.connection.execute(sql)
    }
  }

  private func load(_ bench: Bench, _ serial: Serial) async throws -> StoreError? {
    do throws(StoreError) {
      _ = try await bench.store.load([serial])
      return nil
    } catch {
      return error
    }
  }

  /// What flips, and how the row is told then.
  static let changes = [
    "method = 'PUT'", "target = x'2F612F623D63'", "headers = x'783A20790D0A'",
    "body = x'68656C6C70'", "key = 'l'", "key = NULL", "client = 2", "lane = 2",
    "has_references = 1",
  ]

  @Test(
    "an envelope that is not what was accepted is not loaded, and all others are",
    arguments: changes)
  func loading(_ change: String) async throws {
    try await Bench.with { bench in
      let id = try await bench.accept(bench.draft(key: "k"))
      try await bench.accept(bench.draft(client: "device-2", lane: "other"))
      #expect(try await load(bench, 1) == nil)
      try await self.change(bench, "UPDATE envelope SET \(change) WHERE serial = 1")
      #expect(try await load(bench, 1)?.kind == .corrupt)
      #expect(try await load(bench, 2) == nil)
      await bench.store.close()
      let verdict = try StoreCheck.run(folder: bench.folder)
      let finding = try #require(verdict.findings.first { $0.kind == "content-changed" })
      #expect(finding.examples == ["\(id)"])
    }
  }

  @Test("an envelope whose place in the line names another upstream is not loaded")
  func upstream() async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft())
      _ = try await bench.store.register(upstreams: ["other"])
      try await change(bench, "UPDATE line SET upstream = 2")
      #expect(try await load(bench, 1)?.kind == .corrupt)
    }
  }

  @Test(
    "two rows that name different upstreams are named, and a salvage makes both the right one",
    arguments: ["envelope", "line"])
  func twoUpstreams(table: String) async throws {
    try await DamageBench.with { bench in
      for client in ["a", "b"] { try await bench.bench.accept(bench.bench.draft(client: client)) }
      _ = try await bench.bench.store.register(upstreams: ["other"])
      try await change(bench.bench, "UPDATE \(table) SET upstream = 2 WHERE serial = 1")
      await bench.bench.store.close()
      let verdict = try StoreCheck.run(folder: bench.folder)
      #expect(verdict.findings.first { $0.kind == "two-upstreams" }?.examples == ["1"])
      let (_, findings) = try bench.salvage()
      #expect(findings.map(\.table) == [table], "\(findings)")
      #expect(try StoreCheck.run(folder: bench.newFolder).isSound)
      let store = try SQLiteStore.open(folder: bench.newFolder)
      store.start(observer: RecordingObserver())
      #expect(try await store.load([1, 2]).map(\.serial) == [1, 2])
      await store.close()
    }
  }

  @Test("one that was accepted before there were checksums is sent as it is")
  func older() async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft())
      try await change(bench, "UPDATE envelope SET checksum = NULL, target = x'2F62'")
      #expect(try await load(bench, 1) == nil)
    }
  }

  @Test("what is corrected, coalesced, requeued or moved has the checksum of what it is then")
  func rewritten() async throws {
    try await Bench.with { bench in
      let edited = try await bench.accept(bench.draft(client: "a", key: "k"))
      var content = bench.draft().content
      content.target = Array("/elsewhere".utf8)
      content.body = .file(try await bench.store.write([[1, 2], [3]]))
      let entry = try await bench.entry(edited)
      try await bench.record(
        edited, .edit(EnvelopeEdit(content: content, tag: nil, entry: entry, notBefore: nil)))
      for key in ["1", "2", "3"] {
        _ = try await bench.store.append(
          [bench.draft(client: "b", key: key, coalesce: "c")], isAtomic: false)
      }
      let failed = try await bench.accept(bench.draft(client: "d", key: "x"))
      let place = try await bench.entry(failed)
      try await bench.end(failed, as: .failed)
      let count = bench.observer.recordedCount
      bench.store.record([
        Transition(
          serial: place.serial, lane: place.lane, upstream: place.upstream, change: .requeue(place),
          at: bench.clock.now, epoch: 1)
      ])
      await bench.observer.waitUntilRecorded(count + 1)
      for number in [2, 1] {
        try await bench.accept(bench.draft(client: "e", sequence: Int64(number)))
      }
      let line = try await bench.store.line(after: 0, countMax: 100).entries
      #expect(line.count == 5)
      for entry in line {
        let loaded = try await bench.store.load([entry.serial])
        #expect(loaded.count == 1, "\(entry)")
        guard case .file(let file) = loaded[0].content.body else { continue }
        try await bench.store.checkBody(in: file)
      }
      await bench.store.close()
      #expect(try StoreCheck.run(folder: bench.folder).isSound)
    }
  }

  @Test("a body in a file that is not what was written is seen before it is sent")
  func files() async throws {
    try await DamageBench.with { bench in
      let bytes = [UInt8](repeating: 7, count: 700_000)
      let file = try await bench.bench.store.write([bytes, [1]])
      let id = try await bench.bench.accept(bench.bench.draft(body: .file(file)))
      try await bench.bench.store.checkBody(in: file)
      try Damage.overwrite(file.path, at: 600_001, with: [6])
      let loaded = try await bench.bench.store.load([1])
      guard case .file(let found) = loaded[0].content.body else {
        throw Unexpected(description: "\(loaded)")
      }
      await #expect(throws: StoreError.self) { try await bench.bench.store.checkBody(in: found) }
      await bench.bench.store.close()
      let verdict = try StoreCheck.run(folder: bench.folder).findings
      #expect(verdict.map(\.kind) == ["body-file-changed"])
      #expect(verdict.first?.examples == ["\(id)"])
      let (report, findings) = try bench.salvage()
      #expect(report.bodies == 1 && findings.count == 1 && findings[0].table == "body_file")
    }
  }

  @Test("a salvage tells of what has changed, and what it makes does not send it either")
  func salvage() async throws {
    try await DamageBench.with { bench in
      for client in ["a", "b"] { try await bench.bench.accept(bench.bench.draft(client: client)) }
      try await change(bench.bench, "UPDATE envelope SET target = x'2F62' WHERE serial = 2")
      await bench.bench.store.close()
      let (report, findings) = try bench.salvage()
      #expect(report.envelopes == 2 && findings.map(\.row) == [2] && findings[0].client == "b")
      let store = try SQLiteStore.open(folder: bench.newFolder)
      store.start(observer: RecordingObserver())
      #expect(try await store.load([1]).count == 1)
      await #expect(throws: StoreError.self) { _ = try await store.load([2]) }
      await store.close()
    }
  }
}
