#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

/// Bears trouble that may pass, while each error would end a relay's start.
///
/// A relay that has just taken the store and ends over a lock that an operator holds for a moment
/// leaves the store to nobody, or to a spare that fares no better.
final class StartPatience: Sendable {
  private struct Bearing: Sendable {
    var until: MonotonicTime
    var tell: @Sendable (StoreError) -> Void
  }

  private let bearing = Mutex<Bearing?>(nil)

  /// Bears trouble from now on, for so long, and tells of it each time; nil ends that.
  func bear(for milliseconds: Int64, _ tell: (@Sendable (StoreError) -> Void)?) {
    let until = MonotonicClock.now().adding(milliseconds: milliseconds)
    bearing.withLock { $0 = tell.map { Bearing(until: until, tell: $0) } }
  }

  /// Does something that asks the database, again and again while it meets what is borne.
  ///
  /// - Parameter pause: Waits a while, and says whether to go on.
  func perform<Value>(
    _ body: () throws(StoreError) -> Value, pause: () -> Bool
  ) throws(StoreError) -> Value {
    while true {
      do throws(StoreError) {
        return try body()
      } catch {
        guard let bearing = bearing.withLock({ $0 }), MonotonicClock.now() < bearing.until,
          [.inputOutput, .diskFull, .other].contains(error.kind)
        else { throw error }
        bearing.tell(error)
        guard pause() else { throw error }
      }
    }
  }
}
#endif
