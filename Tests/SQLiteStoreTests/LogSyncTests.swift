import Dispatch
import Foundation
import RelayCore
import Synchronization
import Testing

@testable import SQLiteStore

@Suite("SQLite store: syncs of the log", .timeLimit(.minutes(5)))
struct LogSyncTests {
  @Test("what was read is shown once it has been told, which is once it has been synced")
  func reading() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      for round in 1...20 {
        let order = Mutex<[String]>([])
        let isTelling = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        async let written: Void = store.write("log an event") {
          writer throws(StoreError) in
          writer.log(EventEntry(.gapSkipped, lane: LaneNumber(rawValue: 1), numbers: [1, 1]))
        } onCommit: { _ in
          // The commit has been made, and this is its telling.
          isTelling.signal()
          goOn.wait()
        }
        await wait(for: isTelling)
        let hasRead = DispatchSemaphore(value: 0)
        async let read: Void = {
          _ = try await store.read { reader throws(StoreError) in hasRead.signal() }
          order.withLock { $0.append("shown") }
        }()
        await wait(for: hasRead)
        await Task.yield()
        order.withLock { $0.append("told") }
        goOn.signal()
        try await written
        try await read
        #expect(order.withLock { $0 } == ["told", "shown"], "in round \(round)")
      }
    }
  }

  @Test("what the observer was told of before is read without waiting")
  func readingTold() async throws {
    try await Bench.with { bench in
      let store = try #require(bench.store as? SQLiteStore)
      let id = try await bench.accept(bench.draft())
      let isTelling = DispatchSemaphore(value: 0)
      let goOn = DispatchSemaphore(value: 0)
      async let written: Void = store.write("wait") { _ in
      } onCommit: { _ in
        isTelling.signal()
        goOn.wait()
      }
      await wait(for: isTelling)
      let loaded = try await store.load([id.serial])
      #expect(loaded.map(\.id) == [id])
      goOn.signal()
      try await written
    }
  }

  private func wait(for semaphore: DispatchSemaphore) async {
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      Thread.detachNewThread {
        semaphore.wait()
        done.resume()
      }
    }
  }
}
