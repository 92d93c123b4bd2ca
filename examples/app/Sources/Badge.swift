import WaystationOutbox

/// What the till shows beside its icon: counted from events, and not asked for again and again.
public struct Badge: Equatable, Sendable {
  private var waitingItems: Set<Item.ID> = []
  private var refusedItems: Set<Item.ID> = []

  /// Nothing waits.
  public init() {}

  /// What has been kept, and has not ended.
  public var waiting: Int { waitingItems.count }
  /// What of it needs somebody.
  public var needsAttention: Int { refusedItems.count }

  /// Counts what was left from the app's former life.
  mutating func take(_ item: Item) {
    waitingItems.insert(item.id)
    switch item.state {
    case .blocked, .quarantined: refusedItems.insert(item.id)
    case .ended: end(item.id)
    default: break
    }
  }

  /// Counts what has happened; false if events were lost, and all is to be counted anew.
  mutating func take(_ event: Event) -> Bool {
    switch event {
    case .enqueued(let item): waitingItems.insert(item.id)
    case .errorRecorded(let id, _): refusedItems.insert(id)
    case .errorResolved(let id): refusedItems.remove(id)
    case .ended(let id, _), .coalesced(let id, _): end(id)
    case .dropped(let ids, _): ids.forEach { end($0) }
    case .missed, .damaged: return false
    default: break
    }
    return true
  }

  private mutating func end(_ id: Item.ID) {
    waitingItems.remove(id)
    refusedItems.remove(id)
  }
}
