import Synchronization

/// How many bytes of requests may be in memory at once.
///
/// Large requests may not use the last quarter of it: a few that come in slowly shut out each
/// other, and not the many small ones.
package final class MemoryBudget: Sendable {
  /// A request that holds no more than this is a small one.
  package static let smallRequestBytesMax = 64 * 1024
  /// What every post is counted beside its body: its head, what was decoded of it, and what waits
  /// for the store and the answer.
  package static let requestBytes = 16 * 1024

  private let available: Atomic<Int>
  private let bytesMax: Atomic<Int>

  /// A budget of so many bytes.
  package init(bytesMax: Int) {
    available = Atomic(bytesMax)
    self.bytesMax = Atomic(bytesMax)
  }

  /// Has so many bytes from now on; what is taken out of it stays so, be it more than that.
  package func resize(to bytesMax: Int) {
    let before = self.bytesMax.exchange(bytesMax, ordering: .relaxed)
    available.add(bytesMax - before, ordering: .relaxed)
  }

  /// What large requests have to leave.
  private var bytesForSmallRequests: Int { bytesMax.load(ordering: .relaxed) / 4 }

  /// Takes bytes out of the budget.
  ///
  /// - Parameters:
  ///   - held: How many the same request has taken before.
  /// - Returns: false, with nothing taken, if there is not so much left: the sender is told that
  ///   the relay is overloaded.
  package func reserve(_ bytes: Int, besides held: Int = 0) -> Bool {
    let spared = held + bytes > Self.smallRequestBytesMax ? bytesForSmallRequests : 0
    let left = available.subtract(bytes, ordering: .relaxed).newValue
    guard left < spared else { return true }
    available.add(bytes, ordering: .relaxed)
    return false
  }

  /// Puts bytes back that were reserved before.
  package func release(_ bytes: Int) { available.add(bytes, ordering: .relaxed) }

  /// Whether so little is left that large requests are refused.
  package var isScarce: Bool { bytesLeft <= bytesForSmallRequests }

  /// How many bytes are left.
  package var bytesLeft: Int { available.load(ordering: .relaxed) }
}
