import RelayCore
import Testing

@Suite("Queues against simple models")
struct QueueModelTests {
  @Test("a deque does what an array does", arguments: [1, 2, 3, 4] as [UInt64])
  func dequeIsAnArray(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var deque = Deque<Int>()
    var model: [Int] = []
    for step in 0..<20_000 {
      // It grows for a while and then shrinks, so that the ring is moved both ways.
      let isGrowing = step / 2000 % 2 == 0
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2 where isGrowing:
        deque.append(step)
        model.append(step)
      case 3 where isGrowing:
        deque.prepend(step)
        model.insert(step, at: 0)
      case 4:
        let (last, expected) = (deque.popLast(), model.popLast())
        #expect(last == expected)
      case 5 where !model.isEmpty:
        let place = Int.random(in: 0..<model.count, using: &random)
        deque.remove(at: place)
        model.remove(at: place)
      case 6 where !model.isEmpty:
        let place = Int.random(in: 0..<model.count, using: &random)
        deque[place] = -step
        model[place] = -step
      default:
        let expected = model.isEmpty ? nil : model.removeFirst()
        let first = deque.popFirst()
        #expect(first == expected)
      }
      #expect(deque.count == model.count && deque.first == model.first)
      #expect(deque.last == model.last && deque.isEmpty == model.isEmpty)
      if step % 50 == 0 { #expect((0..<deque.count).map { deque[$0] } == model) }
    }
  }

  @Test("a deque that was long once gives its memory back")
  func dequeShrinks() {
    var deque = Deque<Int>()
    for number in 0..<100_000 { deque.append(number) }
    for _ in 0..<99_990 { _ = deque.popFirst() }
    #expect(deque.capacity <= 128)
    #expect((0..<deque.count).map { deque[$0] } == Array(99_990..<100_000))
  }

  @Test("timers come out in order, and none before its time", arguments: [1, 2, 3] as [UInt64])
  func timersAreSorted(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var timers = TimerQueue<Int>()
    var model: [(time: Int64, payload: Int)] = []
    for step in 0..<5000 {
      let time = Int64.random(in: 0..<1000, using: &random)
      if step % 2000 < 1200 {
        timers.insert(step, at: MonotonicTime(nanoseconds: time))
        model.append((time, step))
      } else if let payload = timers.popDue(at: MonotonicTime(nanoseconds: time)) {
        let place = model.firstIndex { $0.payload == payload }
        let earliest = model.map(\.time).min()
        #expect(place.map { model[$0].time } == earliest && earliest ?? 0 <= time)
        if let place { model.remove(at: place) }
      } else {
        #expect(model.allSatisfy { $0.time > time })
      }
      #expect(timers.count == model.count)
      #expect(timers.earliest?.nanoseconds == model.map(\.time).min())
    }
  }
}

@Suite("Time")
struct TimeTests {
  @Test("times are held at the ends of the range instead of overflowing")
  func saturation() {
    let last = WallTime(millisecondsSinceEpoch: .max)
    let first = WallTime(millisecondsSinceEpoch: .min)
    #expect(last.adding(milliseconds: 1) == last && first.adding(milliseconds: -1) == first)
    #expect(last.milliseconds(since: first) == .max && first.milliseconds(since: last) == .min)
    let start = MonotonicTime(nanoseconds: 5)
    #expect(start.adding(milliseconds: .max).nanoseconds == .max)
    #expect(MonotonicTime(nanoseconds: -5).adding(milliseconds: .min).nanoseconds == .min)
    #expect(start.adding(milliseconds: 2).nanoseconds == 2_000_005)
  }

  @Test("a wall time is found on the monotonic clock, before now as well as after")
  func bothClocks() {
    let now = Now(
      wall: WallTime(millisecondsSinceEpoch: 1000), monotonic: MonotonicTime(nanoseconds: 7))
    #expect(now.monotonic(at: WallTime(millisecondsSinceEpoch: 1500)).nanoseconds == 500_000_007)
    #expect(now.monotonic(at: WallTime(millisecondsSinceEpoch: 0)).nanoseconds == -999_999_993)
    #expect(now.monotonic(at: WallTime(millisecondsSinceEpoch: .max)).nanoseconds == .max)
  }
}
