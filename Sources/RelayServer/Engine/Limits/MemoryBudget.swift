import EventLoop
import HTTPServer
import RelayCore
import Synchronization

/// The budget for bytes of requests that are in memory at once.
///
/// Large requests may not use the last quarter of it: a few that come in slowly shut out each
/// other, and not the many small ones. Those whose bodies come in more than one piece are known one
/// by one, and give way where others need the room: see ``RequestMemory``. The others, which are
/// most, cost a number and nothing else.
package final class MemoryBudget: Sendable {
  /// A request that holds no more than this is a small one.
  package static let smallRequestBytesMax = 64 * 1024
  /// The memory counted for each post beside its body, in bytes: its head, its decoded form, and
  /// its parts that wait for the store and the answer.
  package static let requestBytes = 16 * 1024

  private let available: Atomic<Int>
  private let bytesMax: Atomic<Int>
  private let arriving = Mutex(Arriving())

  /// The requests whose bodies came in more than one piece.
  private struct Arriving {
    var memory = RequestMemory()
    var bodies: [RequestMemory.ClaimID: RequestBody] = [:]
  }

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

  /// The number of bytes that large requests have to leave.
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

  /// Takes bytes out of the budget, at the cost of others if need be.
  ///
  /// - Parameters:
  ///   - want: Who wants how many.
  ///   - held: How many the same request has taken before.
  /// - Returns: false, with nothing taken, if there is not so much left, and nobody has to give
  ///   way.
  func reserve(_ want: RequestMemory.Want, besides held: Int) -> Bool {
    if reserve(want.bytes, besides: held) { return true }
    let now = MonotonicClock.now()
    // Somebody else may be quicker to take what was made room for.
    for _ in 0..<Self.roundsMax {
      let spared = held + want.bytes > Self.smallRequestBytesMax ? bytesForSmallRequests : 0
      guard makeRoom(for: want, lack: want.bytes + spared - bytesLeft, now) else { return false }
      if reserve(want.bytes, besides: held) { return true }
    }
    return false
  }

  private static let roundsMax = 4

  /// Cuts off who has to give way; false if nobody has.
  private func makeRoom(for want: RequestMemory.Want, lack: Int, _ now: MonotonicTime) -> Bool {
    guard lack > 0 else { return true }
    let bytesMax = self.bytesMax.load(ordering: .relaxed)
    let bodies = arriving.withLock { arriving -> [RequestBody] in
      let cut = arriving.memory.makeRoom(for: want, lack: lack, of: bytesMax, now: now)
      // Given back at once: whoever was cut off lets go of it in a moment.
      for claim in cut { release(claim.bytes) }
      return cut.compactMap { arriving.bodies.removeValue(forKey: $0.id) }
    }
    for body in bodies { body.cutOff() }
    return !bodies.isEmpty
  }

  /// A body begins to come, of a request that holds so many bytes already.
  func begin(
    _ body: RequestBody, of holder: RequestMemory.Holder, bytes: Int
  ) -> RequestMemory.ClaimID {
    arriving.withLock { arriving in
      let id = arriving.memory.begin(holder, bytes: bytes, now: MonotonicClock.now())
      arriving.bodies[id] = body
      return id
    }
  }

  /// More of a body has come; see ``RequestMemory/progress(_:came:held:now:)``.
  func progress(_ id: RequestMemory.ClaimID, came: Int, held: Int) -> Bool {
    arriving.withLock {
      $0.memory.progress(id, came: came, held: held, now: MonotonicClock.now())
    }
  }

  /// The whole body is there; false where it was cut off.
  func hasArrived(_ id: RequestMemory.ClaimID) -> Bool {
    arriving.withLock { arriving in
      arriving.bodies[id] = nil
      return arriving.memory.hasArrived(id)
    }
  }

  /// Puts back what a claim holds; nothing, where it was cut off.
  func end(_ id: RequestMemory.ClaimID) {
    let bytes = arriving.withLock { arriving in
      arriving.bodies[id] = nil
      return arriving.memory.end(id)
    }
    if let bytes { release(bytes) }
  }

  /// Puts bytes back that were reserved before.
  package func release(_ bytes: Int) { available.add(bytes, ordering: .relaxed) }

  /// True if so little is left that large requests are refused.
  package var isScarce: Bool { bytesLeft <= bytesForSmallRequests }

  /// The number of bytes that are left.
  package var bytesLeft: Int { available.load(ordering: .relaxed) }
}
