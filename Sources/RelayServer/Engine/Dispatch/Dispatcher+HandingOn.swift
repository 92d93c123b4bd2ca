import Forwarder
import RelayCore
import Synchronization

// Envelopes whose upstream is another relay, which is told all that their senders said of them.
extension Dispatcher {
  /// Whether an envelope goes to another relay.
  func isHandedOn(_ entry: LineEntry) -> Bool {
    targets.withLock { $0[entry.upstream]?.batch?.isRelay } ?? false
  }

  /// What the senders of these envelopes said of them.
  ///
  /// - Returns: nil if it cannot be read; the log says so.
  func terms(of entries: [LineEntry]) async -> [Serial: SenderTerms]? {
    do throws(StoreError) {
      return try await store.terms(of: entries.map(\.serial))
    } catch {
      logUnread(error)
      return nil
    }
  }

  /// The same for contents that are to be loaded: those that go to another relay get theirs.
  func withTerms(_ pending: [PendingLoad]) async throws(StoreError) -> [PendingLoad] {
    let handedOn = pending.filter { !$0.isVerification && isHandedOn($0.entry) }
    guard !handedOn.isEmpty else { return pending }
    let terms = try await store.terms(of: handedOn.map(\.entry.serial))
    return pending.map { load in
      var load = load
      load.terms = terms[load.entry.serial]
      return load
    }
  }
}
