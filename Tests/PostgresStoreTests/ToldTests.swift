#if PostgreSQL
import Foundation
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Synchronization
import Testing

@Suite(
  "what is read of a commit that nobody was told of yet",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"), .timeLimit(.minutes(5)))
struct ToldTests {
  /// Lets the store wait in the middle of telling.
  private final class SlowObserver: StoreObserver {
    let isTelling = AsyncStream.makeStream(of: Void.self)
    let mayGoOn = DispatchSemaphore(value: 0)
    let beats = AsyncStream.makeStream(of: Void.self)

    func committed(_ commit: Commit, answer: (CommitPositions) -> Void) {
      isTelling.continuation.yield()
      // On the store's own thread, which may wait.
      mayGoOn.wait()
      var positions = CommitPositions()
      for case .accepted(let envelopes) in commit.changes {
        positions.accepted = envelopes.map { _ in 1 }
      }
      answer(positions)
    }

    func leaseHeld() { beats.continuation.yield() }
    func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool { true }
    func reserveAll(of client: ClientNumber) -> SparedEnvelopes { SparedEnvelopes() }
    func released(_ reservations: Reservations) {}
  }

  @Test("a page of the line waits until it was told, and contents by their numbers do not")
  func line() async throws {
    let bench = try StoreBench()
    let observer = SlowObserver()
    let store = try PostgresStore(at: try bench.address(), StoreBench.options)
    store.start(observer: observer)
    async let posted = store.append([StoreBench.draft(1)], isAtomic: false)
    for await _ in observer.isTelling.stream { break }
    let hasRead = Mutex(false)
    async let page = {
      let page = try await store.line(after: 0, countMax: 10)
      hasRead.withLock { $0 = true }
      return page
    }()
    // By then the database has long answered: it does so to these questions, one after the other.
    let told = try await store.load([1])
    #expect(told.count == 1)
    for _ in 1...2 { for await _ in observer.beats.stream { break } }
    #expect(!hasRead.withLock { $0 })
    observer.mayGoOn.signal()
    #expect(try await page.entries.map(\.serial) == [1])
    _ = try await posted
    await store.close()
  }
}
#endif
