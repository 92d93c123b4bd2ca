import RelayCore
import Synchronization

/// The numbers of clients that were seen lately, so that their waiting envelopes can be counted
/// without asking the store for each post.
final class ClientNumbers: Sendable {
  /// The most names that are remembered; at that many, all are forgotten.
  static let countMax = 16_384

  private let known = Mutex<[String: ClientNumber]>([:])

  /// The number of a client; nil if nothing of it was ever accepted.
  func number(
    of client: String, in store: any EnvelopeStore
  ) async throws(StoreError) -> ClientNumber? {
    if let number = known.withLock({ $0[client] }) { return number }
    guard let number = try await store.client(client)?.number else { return nil }
    known.withLock { known in
      if known.count >= Self.countMax { known.removeAll() }
      known[client] = number
    }
    return number
  }
}
