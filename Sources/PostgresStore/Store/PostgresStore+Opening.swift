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

  /// Takes the store and opens it, as often as another relay takes it meanwhile; nil if that is to
  /// be waited for no longer.
  private static func taken(
    at address: PostgresAddress, _ options: Options, tell: @escaping (StoreWait) -> Void,
    isOver: @escaping (_ milliseconds: Int64) -> Bool
  ) throws(StoreError) -> PostgresStore? {
    while true {
      let servers = ServerChoice(address)
      var wait = SeatWait(
        at: servers, options.identity, DatabaseLimits(), tell: tell, isOver: isOver)
      guard let seat = try wait.seat() else { return nil }
      do throws(StoreError) {
        let store = try PostgresStore(
          seat, at: servers, options, tell: { tell(.unreachable($0)) }, isOver: isOver)
        return store
      } catch {
        // Nothing was begun with it: this relay is a spare again.
        guard error.kind == .leaseLost else { throw error }
      }
    }
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
          resume(.success(try taken(at: address, options, tell: waiting, isOver: isOver)))
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
