import RelayCore
import Synchronization

/// The numbers of clients that were seen lately, so that their waiting envelopes can be counted
/// without asking the store for each post.
final class ClientNumbers: Sendable {
  /// The most names that are remembered; at that many, all are forgotten.
  static let countMax = 16_384

  private struct Known {
    var numbers: [String: ClientNumber] = [:]
    /// The count of forgotten clients when the first of these was looked up.
    var forgettingCount: UInt64 = 0
  }

  private let known = Mutex(Known())

  /// The number of a client; nil if nothing of it was ever accepted.
  ///
  /// - Parameter forgettingCount: How often the store has forgotten clients, as of now: one that is
  ///   used again after that has another number.
  func number(
    of client: String, in store: any EnvelopeStore, forgettingCount: UInt64
  ) async throws(StoreError) -> ClientNumber? {
    let number = known.withLock { known -> ClientNumber? in
      if known.forgettingCount < forgettingCount {
        known = Known(forgettingCount: forgettingCount)
      }
      return known.numbers[client]
    }
    if let number { return number }
    guard let number = try await store.client(client)?.number else { return nil }
    known.withLock { known in
      // It may have been forgotten since it was read.
      guard known.forgettingCount == forgettingCount else { return }
      if known.numbers.count >= Self.countMax { known.numbers.removeAll() }
      known.numbers[client] = number
    }
    return number
  }
}
