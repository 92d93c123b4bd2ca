import Foundation
import WaystationOutbox
import WaystationOutboxCurl

/// The device's library in this process, with a real relay and its upstream.
struct OutboxStand {
  let upstream: TestUpstream
  let relay: Relay
  let folder: TemporaryFolder

  /// What the device is called.
  static let client = "device-1"

  /// Prepares a relay, which is not started yet.
  init(
    _ behave: @escaping @Sendable (WireRequest) -> Behaviour = { _ in .answer(200) },
    more: [String: any Sendable] = [:]
  ) throws {
    upstream = try TestUpstream(behave)
    relay = try Relay(upstreams: ["default": Relay.quick(upstream)], more: more)
    folder = try TemporaryFolder()
  }

  /// Settings for the relay, or for what stands before it, with waits that a test can wait for.
  func settings(_ base: String? = nil, custody: Custody = .accepted) -> Settings {
    Self.settings(
      folder, .relay(base: base ?? "http://127.0.0.1:\(relay.port)", client: Self.client),
      custody: custody)
  }

  /// Settings for a destination.
  static func settings(
    _ folder: TemporaryFolder, _ destination: Destination, custody: Custody = .accepted
  ) -> Settings {
    var settings = Settings(
      folder: folder.path + "/outbox", destination: destination, transport: CurlTransport())
    settings.sending.backoff = .milliseconds(20) ... .milliseconds(200)
    settings.sending.checkInEvery = .milliseconds(100)
    settings.sending.timeout = .seconds(30)
    var lane = LaneSettings()
    lane.custody = custody
    for name in ["default", "a", "b", "c"] { settings.lanes[Lane(name)] = lane }
    return settings
  }

  /// Waits until the relay has forgotten the envelope of a key.
  func isForgotten(key: String) async throws {
    try await eventually("an end of \(key)") {
      let path = "/v1/clients/\(Self.client)/envelopes/\(key)"
      return try await relay.device(Self.client).get(path).status == 404 ? true : nil
    }
  }
}

extension Outbox {
  /// What becomes of items, in words that a test compares.
  func words(of ids: [Item.ID]) async -> [String] {
    var words: [String] = []
    for id in ids { words.append(await outcome(of: id)?.word ?? "nothing") }
    return words
  }

  /// Waits until an item is where it is expected.
  func item(
    _ id: Item.ID, _ what: String, where isThere: (Item) -> Bool
  ) async throws -> Item {
    try await eventually("item that \(what)") {
      guard let item = await item(id), isThere(item) else { return nil }
      return item
    }
  }
}

extension Outcome {
  /// What it is, without its answer.
  var word: String {
    switch self {
    case .delivered(let response): "delivered \(response?.status ?? 0)"
    case .refused(_, let error): "refused \(error.id)"
    case .connection: "connection"
    case .expired: "expired"
    case .cancelled: "cancelled"
    case .unknown: "unknown"
    case .stillWaiting: "waiting"
    }
  }

  /// The upstream's answer; nil if there is none.
  var response: Response? {
    switch self {
    case .delivered(let response): response
    case .refused(let response, _): response
    default: nil
    }
  }
}

extension Item {
  /// Whether the relay has it.
  var isAtRelay: Bool {
    if case .atRelay = state { true } else { false }
  }

  /// Whether its lane stands for it.
  var isBlocked: Bool {
    if case .blocked = state { true } else { false }
  }
}
