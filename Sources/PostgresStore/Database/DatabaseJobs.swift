#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

/// Work for threads that have a connection each, first in, first out.
///
/// A database that stands still takes each who asks it some seconds. Whoever has waited in line
/// meanwhile is told what the one before was told, and does not wait as long again.
final class DatabaseJobs: Sendable {
  /// The line itself, for work that nobody waits for.
  let queue = WorkQueue<DatabaseReader.Job>()

  private struct Outage: Sendable {
    var error: StoreError
    var seenAt: MonotonicTime
  }

  private let outage = Mutex<Outage?>(nil)
  /// Has something asked.
  ///
  /// - Parameters:
  ///   - operation: Names it to whoever asks once the store is closed.
  ///   - resume: Is told on the thread that asked what came of it; called once.
  func ask<Value>(
    _ operation: String,
    _ body: @escaping @Sendable (DatabaseReader) throws(StoreError) -> Value,
    resume: @escaping @Sendable (Result<Value, StoreError>) -> Void
  ) {
    let askedAt = Lease.now()
    let isQueued = queue.push { [self] reader in
      if let error = outage(since: askedAt) { return resume(.failure(error)) }
      let result = Result { () throws(StoreError) -> Value in try body(reader) }
      let seen = reader.outage.map { Outage(error: $0, seenAt: Lease.now()) }
      outage.withLock { $0 = seen }
      resume(result)
    }
    if !isQueued { resume(.failure(.closed(operation: operation))) }
  }

  private func outage(since time: MonotonicTime) -> StoreError? {
    outage.withLock { outage in outage.flatMap { time <= $0.seenAt ? $0.error : nil } }
  }
}
#endif
