import WaystationOutbox
import WaystationOutboxFoundation

/// The till of a dining car: what its screens show and do, without any of them.
@MainActor
public final class Till {
  /// What became of a sale, for the screen.
  public enum Sold: Equatable, Sendable {
    /// The office has it.
    case reported
    /// It is kept, and goes by itself.
    case kept
    /// The office does not take it, or nobody knows whether it did: somebody has to look at it.
    case refused(String)
  }

  /// What stands beside the icon.
  public private(set) var badge = Badge() {
    didSet { if badge != oldValue { show.yield(badge) } }
  }
  /// Each change of the badge, for one screen.
  public let badges: AsyncStream<Badge>
  /// What is on the shelves, as the office knew last.
  public private(set) var stock: [String: Int] = [:]
  /// The sales that the office did not take, and why.
  public private(set) var refused: [Item.ID: RecordedError] = [:]
  /// The shift that somebody has signed in to.
  public private(set) var shift: String?

  private let outbox: Outbox
  private let load: @Sendable () async throws -> [String: Int]
  private let show: AsyncStream<Badge>.Continuation
  private var reading: Task<Void, Never>?

  /// Opens the till.
  ///
  /// - Parameters:
  ///   - settings: Where items are kept, and how they go.
  ///   - load: Asks the office for the stock.
  public static func open(
    _ settings: Settings, load: @escaping @Sendable () async throws -> [String: Int]
  ) async throws(OutboxError) -> Till {
    var settings = settings
    settings.collections["stock"] = ["sale", ShelfCount.tag]
    let till = Till(try await Outbox.open(settings), load)
    await till.begin()
    return till
  }

  private init(
    _ outbox: Outbox, _ load: @escaping @Sendable () async throws -> [String: Int]
  ) {
    self.outbox = outbox
    self.load = load
    (badges, show) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  private func begin() async {
    // Before what is left is read, so that nothing falls between.
    let events = outbox.events()
    await countAnew()
    reading = Task { [weak self] in
      for await event in events { await self?.take(event) }
    }
    await outbox.register(ShelfCount.self) { [weak self] count, _ in
      guard let shift = await self?.shift else { return .notYet(retryAfter: nil) }
      return .request(try count.request(shift: shift))
    }
  }

  /// Closes the till; what is kept goes when it is open again.
  public func close() async {
    await outbox.close()
    await reading?.value
    show.finish()
  }

  // MARK: - What the screens do

  /// Reports a sale, and waits a moment for the office.
  public func sell(_ sale: Sale) async throws -> Sold {
    let options = Options(key: "sale-\(sale.number)", lane: "sales", tag: "sale")
    switch try await outbox.saveEventually(sale.request(), options, within: .seconds(3)) {
    case .delivered: return .reported
    case .refused(_, let error): return .refused(error.message)
    case .connection, .stillWaiting: return .kept
    case .unknown(let error): return .refused(error.message)
    case .expired, .cancelled: return .refused("It was taken back.")
    }
  }

  /// Reports what was counted on a shelf; a later count takes the place of one that has not gone.
  public func count(_ count: ShelfCount) async throws {
    try await outbox.enqueue(count, Options(lane: "stock", coalesce: count.article))
  }

  /// Signs in to a shift: counts that waited for one go.
  public func signIn(_ shift: String) async {
    self.shift = shift
    await outbox.wake()
  }

  /// Tries what waits now, as when the app comes to the front.
  public func wake() async { await outbox.wake() }

  /// Asks for the stock, once the office has all that was sold and counted here.
  ///
  /// What it would say before that is older than what the screen shows.
  ///
  /// - Returns: Whether the stock is new.
  @discardableResult
  public func refresh() async throws -> Bool {
    let report = await outbox.run(.collection("stock"), within: .seconds(10))
    guard report.isAllDelivered else { return false }
    stock = try await load()
    return true
  }

  /// Reports a sale that was refused once more, as it should have been, and waits a moment for what
  /// becomes of it, and of the sales that stood behind it.
  public func correct(_ id: Item.ID, _ sale: Sale) async throws {
    try await outbox.resolve(id, .retry(Change(request: sale.request())))
    _ = await outbox.run(.lane("sales"), within: .seconds(3))
  }

  /// Gives up a sale that was refused.
  public func discard(_ id: Item.ID, _ reason: String) async throws {
    try await outbox.resolve(id, .discard(reason: reason))
  }

  // MARK: - What has happened

  private func take(_ event: Event) async {
    switch event {
    case .errorRecorded(let id, let error): refused[id] = error
    case .errorResolved(let id), .ended(let id, _): refused[id] = nil
    default: break
    }
    if !badge.take(event) { await countAnew() }
  }

  private func countAnew() async {
    var counted = Badge()
    var errors: [Item.ID: RecordedError] = [:]
    var last: Item.ID?
    while true {
      let items = await outbox.items(after: last)
      guard let end = items.last else { break }
      for item in items {
        counted.take(item)
        errors[item.id] = item.lastError
      }
      last = end.id
    }
    badge = counted
    refused = errors
  }
}
