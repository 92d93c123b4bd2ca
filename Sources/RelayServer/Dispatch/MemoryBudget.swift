import Synchronization

/// How many bytes of requests may be in memory at once.
package final class MemoryBudget: Sendable {
  private let available: Atomic<Int>

  /// A budget of so many bytes.
  package init(bytesMax: Int) { available = Atomic(bytesMax) }

  /// Takes bytes out of the budget.
  ///
  /// - Returns: false, with nothing taken, if there is not so much left: the sender is told that
  ///   the relay is overloaded.
  package func reserve(_ bytes: Int) -> Bool {
    let left = available.subtract(bytes, ordering: .relaxed).newValue
    guard left < 0 else { return true }
    available.add(bytes, ordering: .relaxed)
    return false
  }

  /// Puts bytes back that were reserved before.
  package func release(_ bytes: Int) { available.add(bytes, ordering: .relaxed) }

  /// How many bytes are left.
  package var bytesLeft: Int { available.load(ordering: .relaxed) }
}
