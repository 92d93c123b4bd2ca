#if PostgreSQL
import PostgresTesting

// What Patroni does by itself, or when it is asked to.
extension ClusterFaults {
  /// The database's servers are exchanged: the one that wrote is ended in order.
  func switchOver() async throws {
    guard let patroni = database as? PatroniPair else { return }
    try await onThread { try patroni.switchOver() }
    try await ledger.progress(acknowledgements)
    try await becomeWhole()
  }

  /// No server may write for a while, since nobody can tell which one is to.
  func loseCoordinator() async throws {
    guard let patroni = database as? PatroniPair else { return }
    try await onThread { try patroni.stopCoordinator() }
    try await onThread { try patroni.resumeCoordinator() }
    try await ledger.progress(acknowledgements)
    try await becomeWhole()
  }
}
#endif
