import RelayCore
import Testing

@Suite("The queue of spans")
struct SpanQueueTests {
  /// A queue, with times in milliseconds and spans by their numbers.
  private final class Stand {
    private var queue: SpanQueue
    private var random = SplitMix64(seed: 1)

    init(bytesMax: Int? = nil) {
      var limits = SpanQueue.Limits()
      limits.spansMax = 10
      limits.batchSpansMax = 4
      limits.batchDelayMs = 100
      if let bytesMax { limits.bytesMax = bytesMax }
      queue = SpanQueue(limits)
    }

    static func time(_ milliseconds: Int64) -> MonotonicTime {
      MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    /// Adds spans; how many found room.
    @discardableResult
    func add(_ numbers: ClosedRange<UInt64>, at milliseconds: Int64, text: String = "") -> Int {
      var taken = 0
      for number in numbers {
        let context = TraceContext(
          trace: TraceID(high: 0, low: 1), parent: SpanID(rawValue: 1), flags: 1)
        let time = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)
        let span = TraceSpan(
          context: context, id: SpanID(rawValue: number), name: "accept", kind: .server,
          startedAt: time, endedAt: time, attributes: [TraceSpan.Attribute("text", .text(text))])
        if queue.add(span, at: Self.time(milliseconds)) { taken += 1 }
      }
      return taken
    }

    func outlook(at milliseconds: Int64) -> SpanQueue.Outlook {
      queue.outlook(at: Self.time(milliseconds))
    }

    @discardableResult
    func take(at milliseconds: Int64) -> [UInt64]? {
      queue.takeBatch(at: Self.time(milliseconds))?.map(\.id.rawValue)
    }

    func end(_ outcome: SpanQueue.Outcome, at milliseconds: Int64) {
      queue.ended(outcome, at: Self.time(milliseconds), random: &random)
    }

    func change(_ body: (inout SpanQueue) -> Void) { body(&queue) }

    var figures: SpanQueue.Figures { queue.figures }
    var isEmpty: Bool { queue.isEmpty }
    var isFailing: Bool { queue.isFailing }
  }

  @Test("waits for company, but not for long, and not where a batch is full")
  func batches() {
    let queue = Stand()
    #expect(queue.outlook(at: 0) == .nothing)
    #expect(queue.add(1...3, at: 10) == 3)
    #expect(queue.outlook(at: 20) == .wait(until: Stand.time(110)))
    #expect(queue.take(at: 109) == nil)
    #expect(queue.add(4...6, at: 20) == 3)
    #expect(queue.outlook(at: 20) == .send)
    #expect(queue.take(at: 20) == [1, 2, 3, 4])
    // One at a time.
    #expect(queue.outlook(at: 500) == .nothing)
  }

  @Test("what was taken is counted, and what the collector would not have as well")
  func taken() {
    let queue = Stand()
    queue.add(1...6, at: 0)
    queue.take(at: 0)
    queue.end(.taken(rejectedCount: 1), at: 5)
    #expect(queue.outlook(at: 5) == .wait(until: Stand.time(100)))
    #expect(queue.take(at: 100) == [5, 6])
    queue.end(.refused, at: 101)
    #expect(queue.figures.exported == 3 && queue.figures.refused == 3)
    #expect(queue.isEmpty && queue.isFailing)
    #expect(queue.outlook(at: 1000) == .nothing)
  }

  @Test("a batch that was not taken is sent again as it was, after longer and longer waits")
  func retries() {
    let queue = Stand()
    queue.add(1...6, at: 0)
    var now: Int64 = 0
    for attempt in 1...10 {
      #expect(queue.take(at: now) == [1, 2, 3, 4], "\(attempt)")
      queue.end(.tryAgain(afterMs: nil), at: now)
      #expect(queue.isFailing)
      now += 60_000
      // No wait is longer than a minute.
      #expect(queue.outlook(at: now) == .send)
    }
    queue.take(at: now)
    queue.end(.taken(rejectedCount: 0), at: now)
    #expect(!queue.isFailing && queue.figures.exported == 4)
    #expect(queue.take(at: now + 1000) == [5, 6])
  }

  @Test("the time that a collector names is kept to")
  func retryAfter() {
    let queue = Stand()
    queue.add(1...4, at: 0)
    queue.take(at: 0)
    queue.end(.tryAgain(afterMs: 30_000), at: 0)
    guard case .wait(let until) = queue.outlook(at: 29_999) else {
      Issue.record("asked too early")
      return
    }
    #expect(until >= Stand.time(30_000) && until <= Stand.time(31_000))
    #expect(queue.outlook(at: 31_000) == .send)
  }

  @Test("what finds no room is dropped and counted; what waits longest stays")
  func full() {
    let queue = Stand()
    #expect(queue.add(1...12, at: 0) == 10)
    #expect(queue.figures.full == 2 && queue.figures.waiting == 10)
    #expect(queue.take(at: 0) == [1, 2, 3, 4])
    // What is under way takes room until it was taken.
    #expect(queue.add(13...13, at: 0) == 0)
    queue.end(.taken(rejectedCount: 0), at: 0)
    #expect(queue.add(14...18, at: 0) == 4)
  }

  @Test("bytes are bounded as well, and free again once they were taken")
  func bytes() {
    let queue = Stand(bytesMax: 3000)
    let text = String(repeating: "x", count: 2000)
    #expect(queue.add(1...2, at: 0, text: text) == 1)
    queue.take(at: 100)
    queue.end(.taken(rejectedCount: 0), at: 100)
    #expect(queue.add(3...3, at: 100, text: text) == 1)
  }

  @Test("at the end all is sent at once, and given up where it is not taken")
  func lastTry() {
    let queue = Stand()
    queue.add(1...6, at: 0)
    queue.take(at: 0)
    queue.end(.tryAgain(afterMs: 600_000), at: 0)
    queue.change { $0.tryOnceMore() }
    #expect(queue.take(at: 1) == [1, 2, 3, 4])
    queue.end(.taken(rejectedCount: 0), at: 2)
    #expect(queue.take(at: 2) == [5, 6])
    queue.end(.tryAgain(afterMs: nil), at: 3)
    #expect(queue.isEmpty && queue.figures.abandoned == 2 && queue.figures.exported == 4)
  }

  @Test("another collector gets what the former one had not taken")
  func anotherCollector() {
    let queue = Stand()
    queue.add(1...4, at: 0)
    queue.take(at: 0)
    queue.change { $0.collectorChanged() }
    #expect(queue.take(at: 1) == [1, 2, 3, 4])
    queue.change { $0.abandon() }
    // What comes of it now is no news.
    queue.end(.taken(rejectedCount: 0), at: 2)
    #expect(queue.isEmpty && queue.figures.exported == 0 && queue.figures.abandoned == 4)
  }
}
