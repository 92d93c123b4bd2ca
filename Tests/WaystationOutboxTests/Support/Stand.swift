import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

/// An outbox with a relay in memory, in a folder of its own.
final class Stand: Sendable {
  let folder: TemporaryFolder
  let relay: ScriptedRelay
  let outbox: Outbox
  let settings: Settings

  /// Opens one; `change` may change its settings before.
  convenience init(_ change: (inout Settings) -> Void = { _ in }) async throws {
    try await self.init(TemporaryFolder(), ScriptedRelay(), change)
  }

  private init(
    _ folder: TemporaryFolder, _ relay: ScriptedRelay, _ change: (inout Settings) -> Void
  ) async throws {
    self.folder = folder
    self.relay = relay
    var settings = Settings(
      folder: "\(folder.path)/outbox",
      destination: .relay(base: "http://relay", client: "device"), transport: relay)
    settings.sending.backoff = .milliseconds(5) ... .milliseconds(20)
    change(&settings)
    self.settings = settings
    outbox = try await Outbox.open(settings)
  }

  /// The same folder, opened again, as by the next start of the app.
  func reopened(_ change: (inout Settings) -> Void = { _ in }) async throws -> Stand {
    await outbox.close()
    return try await Stand(folder, relay) { settings in
      settings = self.settings
      change(&settings)
    }
  }

  /// The paths that the upstream has taken.
  var paths: [String] { relay.delivered.map(\.path) }

  /// The upstream's answer to an item, once it is there; a suite's time limit ends the wait.
  func ending(of id: Item.ID) async throws -> Outcome {
    try #require(await outbox.outcome(of: id))
  }
}

extension Outcome {
  /// A word for it.
  var word: String {
    switch self {
    case .delivered: "delivered"
    case .refused: "refused"
    case .connection: "connection"
    case .expired: "expired"
    case .cancelled: "cancelled"
    case .unknown: "unknown"
    case .stillWaiting: "waiting"
    }
  }
}

extension Events {
  /// The first event that something can be made of.
  func first<Value>(_ make: (Event) -> Value?) async -> Value? {
    for await event in self {
      if let value = make(event) { return value }
    }
    return nil
  }
}
