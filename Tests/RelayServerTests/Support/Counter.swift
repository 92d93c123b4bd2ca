import Synchronization

/// Counts what is called.
final class Counter: Sendable {
  private let count = Mutex(0)
  func add(_ number: Int = 1) { count.withLock { $0 += number } }
  var value: Int { count.withLock { $0 } }
}
