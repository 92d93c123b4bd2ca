import Foundation
import Glibc
import EventLoop
import RelayCore
import Testing

@testable import SQLiteStore

/// What a store does whose files are deleted, moved or replaced while it is open.
@Suite("SQLite store: files that are gone", .timeLimit(.minutes(5)))
struct StorePlacesTests {
  private func append(_ bench: Bench) async -> StoreError? {
    do throws(StoreError) {
      _ = try await bench.store.append([bench.draft()], isAtomic: false)
      return nil
    } catch {
      return error
    }
  }

  /// What stands in a data folder, and may be taken from it.
  private static let files = ["", "-wal", "-shm"].map { "waystation.sqlite3\($0)" } + ["lock"]

  @Test("nothing is accepted any more once a file is gone, until it is back", arguments: files)
  func gone(file: String) async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft())
      let path = "\(bench.folder)/\(file)"
      try #require(rename(path, path + ".away") == 0)
      // The lock and the shared memory hold nothing: they are looked at once a second.
      var count = 1
      while try bench.embedded.displacement == nil { count += 1 }
      let error = try await refused(bench)
      #expect(error.detail.contains("is gone from there") && error.subject == path)
      #expect(bench.store.statistics().trouble?.contains("waystation store rescue") == true)
      try #require(rename(path + ".away", path) == 0)
      #expect(try bench.embedded.displacement == nil)
      while await append(bench) != nil {}
      #expect(bench.store.statistics().trouble == nil)
    }
  }

  /// What an append is refused with: at once, or within the second in which it is not looked.
  private func refused(_ bench: Bench) async throws -> StoreError {
    while true {
      if let error = await append(bench) {
        #expect(error.kind == .displaced)
        return error
      }
    }
  }

  @Test("something else in a file's place is no less a loss", arguments: ["", "-wal"])
  func replaced(end: String) async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft())
      let path = DataFolder.database(in: bench.folder) + end
      try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
      try #require(rename(path + ".copy", path) == 0)
      let error = try #require(await append(bench))
      #expect(error.kind == .displaced && error.detail.contains("another file"))
    }
  }

  @Test("what is committed while the files go is not told as stored")
  func betweenCommitAndAnswer() async throws {
    try await Bench.with { bench in
      try await bench.accept(bench.draft())
      let store = try #require(bench.store as? SQLiteStore)
      let path = DataFolder.database(in: bench.folder)
      // Within the transaction: it was looked before, and all was in its place.
      let error = await #expect(throws: StoreError.self) {
        try await store.write("take the file away") { _ in _ = rename(path, path + ".away") }
      }
      #expect(error?.kind == .displaced)
      try #require(rename(path + ".away", path) == 0)
    }
  }

  @Test("what an append is committed with while the files go is refused with it")
  func appendBetweenCommitAndAnswer() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      let path = DataFolder.database(in: bench.folder)
      let entered = DispatchSemaphore(value: 0)
      let goOn = DispatchSemaphore(value: 0)
      // The writer is kept busy, so that both of these come into one transaction behind it.
      async let busy: Void = store.write("wait") { _ in
        entered.signal()
        goOn.wait()
      }
      await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        Thread.detachNewThread {
          entered.wait()
          done.resume()
        }
      }
      let taking = Task {
        try await store.write("take the file away") { _ in _ = rename(path, path + ".away") }
      }
      async let refusal = append(bench)
      while store.shared.inbox.update({ $0.requests.count }) < 2 { await Task.yield() }
      goOn.signal()
      // It may be told after the file went, and is refused then as well.
      _ = try? await busy
      await #expect(throws: StoreError.self) { try await taking.value }
      #expect(await refusal?.kind == .displaced)
      try #require(rename(path + ".away", path) == 0)
    }
  }

  @Test("all is written to a new place of files that have no name any more")
  func rescued() async throws {
    try await Bench.with { bench in
      let file = try await bench.store.write([[1, 2, 3]])
      let lost = try await bench.store.write([[4]])
      let ids = [
        try await bench.accept(bench.draft()),
        try await bench.accept(bench.draft(body: .file(file))),
        try await bench.accept(bench.draft(body: .file(lost))),
      ]
      for file in Self.files { unlink("\(bench.folder)/\(file)") }
      unlink(lost.path)
      #expect(await append(bench)?.kind == .displaced)
      // What becomes of them goes on, and comes along.
      try await bench.record(ids[0], .end(.delivered, reason: ""))
      let target = Bench.freshFolder()
      defer { try? FileManager.default.removeItem(atPath: target) }
      let report = try await bench.embedded.rescue(to: target)
      #expect(report.bodies == 1 && report.missingBodies == 1 && report.pages > 0)
      await #expect(throws: StoreError.self) { try await bench.embedded.rescue(to: target) }
      let other = try Bench(folder: target)
      #expect(try await other.store.envelope(ids[0])?.state == .delivered)
      #expect(try await other.store.line(after: 0, countMax: 9).entries.count == 2)
      let loaded = try await other.store.load([ids[1].serial])
      #expect(loaded.first?.content.body.byteCount == 3)
      await other.store.close()
    }
  }

  @Test("without the log alone, what was accepted is in the database once the store is closed")
  func logGone() async throws {
    try await Bench.with { bench in
      let id = try await bench.accept(bench.draft())
      unlink(DataFolder.database(in: bench.folder) + "-wal")
      #expect(await append(bench)?.kind == .displaced)
      try await bench.reopen()
      #expect(try await bench.store.envelope(id)?.state == .queued)
    }
  }

  @Test(
    "a store in whose place another one was mounted leaves that one's log alone",
    .enabled(if: geteuid() == 0, "mounting a file system takes root"))
  func mountedOver() async throws {
    let folder = Bench.freshFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Two file systems that number their files alike.
    guard mount("tmpfs", folder, "tmpfs", 0, nil) == 0 else { return }
    defer { umount2(folder, Int32(MNT_DETACH)) }
    let first = try Bench(folder: folder)
    try await first.accept(first.draft())
    try #require(mount("tmpfs", folder, "tmpfs", 0, nil) == 0)
    defer { umount2(folder, Int32(MNT_DETACH)) }
    let second = try Bench(folder: folder)
    let id = try await second.accept(second.draft())
    let log = DataFolder.database(in: folder) + "-wal"
    let bytes = DataFolder.size(ofFile: log)
    #expect(await append(first)?.kind == .displaced)
    await first.store.close()
    #expect(bytes > 0 && DataFolder.size(ofFile: log) == bytes)
    #expect(try second.embedded.displacement == nil)
    #expect(try await second.store.envelope(id)?.state == .queued)
    await second.store.close()
  }
}
