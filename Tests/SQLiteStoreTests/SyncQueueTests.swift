import Synchronization
import Testing

@testable import SQLiteStore

@Suite("SQLite store: the queue of commits that wait for their sync")
struct SyncQueueTests {
  /// Whether a waiter has been resumed.
  private final class Waited: Sendable {
    private let isOver = Atomic(false)
    var resume: @Sendable () -> Void { { self.isOver.store(true, ordering: .relaxed) } }
    var hasEnded: Bool { isOver.load(ordering: .relaxed) }
  }

  private func run(_ waiters: [SyncQueue<Int>.Waiter]) { for resume in waiters { resume() } }

  @Test("a writer with nothing else to do syncs by itself, unless another commit waits")
  func own() {
    var queue = SyncQueue<Int>()
    queue.begin()
    let isOwn1 = queue.handOver(1, changeCount: 128, hasMoreToDo: false)
    #expect(isOwn1)
    let taken2 = queue.take()
    #expect(taken2 == nil, "the writer has it")
    run(queue.finish(after: 100))
    queue.begin()
    let isOwn3 = queue.handOver(2, changeCount: 128, hasMoreToDo: true)
    #expect(!isOwn3)
    queue.begin()
    let isOwn4 = queue.handOver(3, changeCount: 128, hasMoreToDo: false)
    #expect(!isOwn4, "it would be told before the second")
    let taken5 = queue.take()
    #expect(taken5 == [2, 3])
  }

  @Test("a small commit on a quick disk is synced by its writer; on a slow one the next is made")
  func worthwhile() {
    var queue = SyncQueue<Int>()
    for (syncMicroseconds, isOwn) in [(200, true), (9000, true), (100, false), (100, false)] {
      queue.begin()
      let hasIt = queue.handOver(1, changeCount: 127, hasMoreToDo: true)
      #expect(hasIt == isOwn)
      if !hasIt { _ = queue.take() }
      run(queue.finish(after: Int64(syncMicroseconds)))
    }
    for _ in 0..<8 {
      queue.begin()
      if !queue.handOver(1, changeCount: 1, hasMoreToDo: true) { _ = queue.take() }
      run(queue.finish(after: 100))
    }
    queue.begin()
    let isOwnAgain = queue.handOver(1, changeCount: 1, hasMoreToDo: true)
    #expect(isOwnAgain, "the disk is quick again")
  }

  @Test("commits are taken in their order, and those of one sync together")
  func order() {
    var queue = SyncQueue<Int>()
    queue.begin()
    _ = queue.handOver(1, changeCount: 128, hasMoreToDo: true)
    let taken6 = queue.take()
    #expect(taken6 == [1])
    for number in [2, 3] {
      queue.begin()
      _ = queue.handOver(number, changeCount: 128, hasMoreToDo: true)
    }
    let taken7 = queue.take()
    #expect(taken7 == nil, "the first one is being synced")
    #expect(queue.openCount == 3)
    run(queue.finish(after: 100))
    #expect(queue.openCount == 2)
    let taken8 = queue.take()
    #expect(taken8 == [2, 3])
    run(queue.finish(after: 100))
    #expect(queue.openCount == 0 && queue.isIdle)
  }

  @Test("whoever may have seen a commit waits until it has been told, and for no later one")
  func waiting() {
    var queue = SyncQueue<Int>()
    let (first, second) = (Waited(), Waited())
    let isTold9 = queue.wait(first.resume)
    #expect(isTold9, "there is nothing to wait for")
    queue.begin()
    let isTold10 = queue.wait(first.resume)
    #expect(!isTold10, "it is seen before it is handed over")
    _ = queue.handOver(1, changeCount: 128, hasMoreToDo: true)
    _ = queue.take()
    queue.begin()
    let isTold11 = queue.wait(second.resume)
    #expect(!isTold11)
    run(queue.finish(after: 100))
    #expect(first.hasEnded && !second.hasEnded)
    _ = queue.handOver(2, changeCount: 128, hasMoreToDo: true)
    _ = queue.take()
    run(queue.finish(after: 100))
    #expect(second.hasEnded)
  }

  @Test("nobody waits for a commit that failed")
  func withdrawn() {
    var queue = SyncQueue<Int>()
    let (alone, behind) = (Waited(), Waited())
    queue.begin()
    let isTold12 = queue.wait(alone.resume)
    #expect(!isTold12)
    run(queue.withdraw())
    #expect(alone.hasEnded && queue.openCount == 0)
    queue.begin()
    _ = queue.handOver(1, changeCount: 128, hasMoreToDo: true)
    queue.begin()
    let isTold13 = queue.wait(behind.resume)
    #expect(!isTold13)
    run(queue.withdraw())
    #expect(!behind.hasEnded, "the one before has not been told yet")
    _ = queue.take()
    run(queue.finish(after: 100))
    #expect(behind.hasEnded)
  }
}
