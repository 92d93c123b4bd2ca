import Forwarder
import RelayCore
import Synchronization

extension Dispatcher {
  /// The progress of attempts under way.
  ///
  /// Costs one short visit to the forwarder's thread, however many are asked for.
  ///
  /// - Parameter serials: Whose; nil for all.
  /// - Returns: One for each of them of which something is being sent, or an answer awaited, in no
  ///   order.
  package func progress(of serials: Set<Serial>? = nil) async -> [AttemptProgress] {
    let forwarder = state.withLock { $0.forwarder }
    return await forwarder?.progress(of: serials) ?? []
  }

  /// The progress of one envelope's attempt; nil if none is under way.
  package func progress(of serial: Serial) async -> AttemptProgress? {
    guard state.withLock({ $0.scheduler.isInFlight(serial) }) else { return nil }
    return await progress(of: [serial]).first
  }
}
