import RelayCore

/// Bytes of one request that are counted against the relay's memory.
///
/// Whoever makes one says by a `defer` how long the bytes are held; `deinit` is there for what that
/// may miss, and to keep the type from being copied.
struct MemoryReservation: ~Copyable {
  private let budget: MemoryBudget
  private var bytes = 0

  init(_ budget: MemoryBudget) { self.budget = budget }

  deinit { budget.release(bytes) }

  /// Takes more bytes.
  ///
  /// - Throws: `overloaded` if there are not so many left.
  mutating func take(_ count: Int) throws(Problem) {
    guard budget.reserve(count, besides: bytes) else {
      throw .overloaded("The relay holds as many bytes of requests in memory as it may.")
    }
    bytes += count
  }

  /// Gives everything back.
  mutating func giveBack() {
    budget.release(bytes)
    bytes = 0
  }
}
