#if PostgreSQL
import EventLoop
import Postgres
import RelayCore

extension PostgresStore {
  /// Waits until no other relay has the store, takes it, and opens it.
  ///
  /// It is taken from a relay that has not shown for three seconds that it runs
  /// (``LeaseLimits/ttlMs``), which writes nothing from then on. One that is closed gives it up at
  /// once.
  ///
  /// - Parameter waiting: Is told what is waited for, each time that it changes, on a thread of the
  ///   store's.
  /// - Returns: nil if the task is cancelled.
  /// - Throws: ``StoreError`` if the database refuses the relay, or has tables of a newer version.
  package static func open(
    at address: PostgresAddress, _ options: Options,
    waiting: @escaping @Sendable (StoreWait) -> Void
  ) async throws(StoreError) -> PostgresStore? {
    let isCancelled = Monitor(false)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        open(at: address, options, waiting, isCancelled) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      isCancelled.update { $0 = true }
    }
    return try result.get()
  }

  private static func open(
    at address: PostgresAddress, _ options: Options,
    _ waiting: @escaping @Sendable (StoreWait) -> Void, _ isCancelled: Monitor<Bool>,
    _ resume: @escaping @Sendable (Result<PostgresStore?, StoreError>) -> Void
  ) {
    do throws(StoreError) {
      _ = try spawn("store-wait") {
        do throws(StoreError) {
          let isOver = { (milliseconds: Int64) in
            let deadline = MonotonicClock.now().adding(milliseconds: milliseconds)
            return isCancelled.wait(until: deadline) { $0 ? true : nil } != nil
          }
          let servers = ServerChoice(address)
          var wait = SeatWait(
            at: servers, options.identity, DatabaseLimits(), tell: waiting,
            isOver: isOver)
          let seat = try wait.seat()
          resume(
            .success(
              try seat.map { seat throws(StoreError) in
                try PostgresStore(seat, at: servers, options, isOver: isOver)
              }))
        } catch {
          resume(.failure(error))
        }
      }
    } catch {
      resume(.failure(error))
    }
  }
}
#endif
