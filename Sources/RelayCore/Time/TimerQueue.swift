/// A queue of entries by time, the earliest first: a binary heap.
package struct TimerQueue<Payload: Sendable>: Sendable {
  private var heap: [(time: MonotonicTime, payload: Payload)] = []

  /// An empty queue.
  package init() {}

  /// The number of entries.
  package var count: Int { heap.count }

  /// The time of the earliest entry; nil if there is none.
  package var earliest: MonotonicTime? { heap.first?.time }

  /// Adds an entry.
  package mutating func insert(_ payload: Payload, at time: MonotonicTime) {
    heap.append((time, payload))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].time < heap[parent].time else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Removes and returns the earliest entry if it is due.
  package mutating func popDue(at now: MonotonicTime) -> Payload? {
    guard let first = heap.first, first.time <= now else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      siftDown()
    }
    return first.payload
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].time < heap[least].time { least = child }
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
