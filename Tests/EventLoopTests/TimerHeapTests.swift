@testable import EventLoop
import RelayCore
import Testing

@Suite("Timers in a heap")
struct TimerHeapTests {
  /// What the heap is to do, done simply: all timers in a list.
  private struct Model {
    var entries: [TimerHeap.Entry] = []

    var first: TimerHeap.Entry? {
      entries.min { ($0.due.nanoseconds, $0.order) < ($1.due.nanoseconds, $1.order) }
    }

    mutating func remove(_ entry: TimerHeap.Entry) -> Bool {
      guard let place = entries.firstIndex(where: { $0 === entry }) else { return false }
      entries.remove(at: place)
      return true
    }
  }

  @Test(
    "the earliest comes out first, of those of one time the one that was set first",
    arguments: [1, 2, 3] as [UInt64])
  func likeAList(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var heap = TimerHeap()
    var model = Model()
    var known: [TimerHeap.Entry] = []
    for step in 0..<6000 {
      let now = MonotonicTime(nanoseconds: Int64.random(in: 0..<40, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      // It grows for a while and then shrinks. There are few times, so that many are the same.
      case 0..<(step / 1500 % 2 == 0 ? 4 : 1):
        let entry = TimerHeap.Entry(due: now, order: UInt64(step)) {}
        heap.insert(entry)
        model.entries.append(entry)
        known.append(entry)
      case 4:
        guard let entry = known.randomElement(using: &random) else { continue }
        let (isRemoved, expected) = (heap.remove(entry), model.remove(entry))
        #expect(isRemoved == expected)
      default:
        let entry = heap.popDue(at: now)
        let expected = model.first.flatMap { $0.due <= now ? $0 : nil }
        #expect(entry === expected)
        if let expected { _ = model.remove(expected) }
      }
      #expect(heap.count == model.entries.count)
      #expect(heap.earliest == model.first?.due)
    }
    let end = MonotonicTime(nanoseconds: 40)
    while let expected = model.first {
      let entry = heap.popDue(at: end)
      #expect(entry === expected)
      _ = model.remove(expected)
    }
    #expect(heap.count == 0)
  }
}
