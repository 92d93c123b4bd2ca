import RelayCore
import Synchronization

/// Says when trouble in the store is to be logged: once in a while for each kind, however many
/// requests meet it.
final class TroubleLog: Sendable {
  /// How long nothing more is logged of a kind.
  static let pauseMs: Int64 = 10_000

  private let quietUntil = Mutex<[StoreError.Kind: MonotonicTime]>([:])

  init() {}

  /// Whether to log trouble of this kind now; true begins a pause.
  func isDue(_ kind: StoreError.Kind, at now: MonotonicTime) -> Bool {
    quietUntil.withLock { quietUntil in
      if let until = quietUntil[kind], now < until { return false }
      quietUntil[kind] = now.adding(milliseconds: Self.pauseMs)
      return true
    }
  }
}
