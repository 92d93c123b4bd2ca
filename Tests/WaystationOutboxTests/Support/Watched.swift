import Synchronization

@testable import WaystationOutbox

/// Looks at what goes to the relay, and may come in between.
final class Watched: Transport {
  private struct State {
    var transport: (any Transport)?
    var paths: [String] = []
    var afterKeys: (@Sendable () -> Void)?
    var ledgerFailures = 0
  }

  private let state = Mutex(State())

  var transport: (any Transport)? {
    get { state.withLock { $0.transport } }
    set { state.withLock { $0.transport = newValue } }
  }

  /// How often a ledger was asked for.
  var ledgerCount: Int { state.withLock { $0.paths.count { $0.contains("/ledger?") } } }

  /// Does something once, when the relay has shown its keys.
  func afterKeys(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.afterKeys = work } }

  /// The next request for a ledger does not arrive.
  func failNextLedger() { state.withLock { $0.ledgerFailures = 1 } }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    let isCut = state.withLock { state in
      state.paths.append(exchange.url)
      guard exchange.url.contains("/ledger?"), state.ledgerFailures > 0 else { return false }
      state.ledgerFailures -= 1
      return true
    }
    guard !isCut, let transport else {
      throw ConnectionFailure(reason: "cut", mayHaveArrived: false)
    }
    let response = try await transport.send(exchange, progress: progress)
    if exchange.url.hasSuffix("/keys") { state.withLock { $0.afterKeys.take() }?() }
    return response
  }
}
