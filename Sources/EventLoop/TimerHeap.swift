import RelayCore

/// Timers by due time: the earliest in O(1), insertion and removal in O(log n).
///
/// Each timer knows its place in the heap, so a cancelled one leaves at once: a thousand waits of
/// 20 s that end early leave nothing behind.
struct TimerHeap {
  /// An entry; only the heap writes `place`.
  final class Entry {
    let due: MonotonicTime
    let order: UInt64
    let action: @Sendable () -> Void
    /// The index in the heap, or -1 when it is not in one.
    fileprivate(set) var place = -1

    init(due: MonotonicTime, order: UInt64, action: @escaping @Sendable () -> Void) {
      self.due = due
      self.order = order
      self.action = action
    }

    fileprivate func isBefore(_ other: Entry) -> Bool {
      due == other.due ? order < other.order : due < other.due
    }
  }

  private var entries: [Entry] = []

  var count: Int { entries.count }

  /// The due time of the next timer; nil if there is none.
  var earliest: MonotonicTime? { entries.first?.due }

  mutating func insert(_ entry: Entry) {
    entry.place = entries.count
    entries.append(entry)
    moveUp(from: entry.place)
  }

  /// Removes a timer; false if it has fired or was removed before.
  mutating func remove(_ entry: Entry) -> Bool {
    guard entry.place >= 0 else { return false }
    let hole = entry.place
    let last = entries.removeLast()
    entry.place = -1
    if last === entry { return true }
    entries[hole] = last
    last.place = hole
    moveUp(from: hole)
    moveDown(from: last.place)
    return true
  }

  /// Removes and returns the earliest timer if it is due.
  mutating func popDue(at now: MonotonicTime) -> Entry? {
    guard let first = entries.first, first.due <= now else { return nil }
    _ = remove(first)
    return first
  }

  private mutating func moveUp(from start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].isBefore(entries[parent]) else { return }
      swapEntries(child, parent)
      child = parent
    }
  }

  private mutating func moveDown(from start: Int) {
    var parent = start
    while true {
      var smallest = parent
      for child in (2 * parent + 1)...(2 * parent + 2)
      where child < entries.count && entries[child].isBefore(entries[smallest]) {
        smallest = child
      }
      if smallest == parent { return }
      swapEntries(parent, smallest)
      parent = smallest
    }
  }

  private mutating func swapEntries(_ first: Int, _ second: Int) {
    entries.swapAt(first, second)
    entries[first].place = first
    entries[second].place = second
  }
}
