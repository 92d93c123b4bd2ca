import RelayCore

/// Which posts go together to the other relay, and when.
///
/// A request between relays costs as much as several posts. So while two are under way, the next
/// posts wait for each other, and go together once an answer has come. A post that comes alone goes
/// at once. A value: the times are handed in.
struct PassingQueue<Item> {
  /// How many requests with posts are under way before others wait: the next one is put together
  /// and stored while the last one is synced.
  static var underWayMax: Int { 2 }
  /// How long one waits at most, in milliseconds: an answer may take long.
  static var waitMsMax: Int64 { 20 }

  private struct Waiting {
    let item: Item
    let bytes: Int
    let since: MonotonicTime
  }

  private var waiting = Deque<Waiting>()
  private var underWay = 0

  /// Whether the next one goes at once.
  var hasRoom: Bool { underWay < Self.underWayMax }

  /// Puts one at the end.
  ///
  /// - Parameter bytes: What it adds to a request.
  mutating func append(_ item: Item, bytes: Int, at now: MonotonicTime) {
    waiting.append(Waiting(item: item, bytes: bytes, since: now))
  }

  /// Takes those that go together now, and notes that they are under way; nil if none are to go.
  mutating func next(at now: MonotonicTime) -> [Item]? {
    guard let first = waiting.first,
      hasRoom || now.milliseconds(since: first.since) >= Self.waitMsMax
    else { return nil }
    var (items, bytes): ([Item], Int) = ([], 0)
    while let next = waiting.first, items.count < PassedBundle.itemsMax,
      items.isEmpty || bytes + next.bytes <= PassedBundle.bytesMax
    {
      _ = waiting.popFirst()
      items.append(next.item)
      bytes += next.bytes
    }
    underWay += 1
    return items
  }

  /// What was under way has ended.
  mutating func end() {
    precondition(underWay > 0, "what ends has begun")
    underWay -= 1
  }

  /// Takes out those of the waiting ones that a condition holds for.
  mutating func takeWaiting(where isWanted: (Item) -> Bool) -> [Item] {
    var taken: [Item] = []
    for _ in 0..<waiting.count {
      guard let next = waiting.popFirst() else { break }
      if isWanted(next.item) { taken.append(next.item) } else { waiting.append(next) }
    }
    return taken
  }

  /// The time until the queue has to be looked at, even if nothing has ended, in milliseconds; nil
  /// if it need not be.
  func leftMs(at now: MonotonicTime) -> Int64? {
    guard let first = waiting.first else { return hasRoom ? nil : Self.waitMsMax }
    return max(0, Self.waitMsMax - now.milliseconds(since: first.since))
  }
}
