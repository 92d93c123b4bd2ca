import EventLoop
import RelayCore
import Synchronization
import Testing

@Suite("The event loop", .timeLimit(.minutes(5)))
struct LoopTests {
  private func withLoop<Result>(
    _ body: (EventLoop) async throws -> Result
  ) async throws -> Result {
    let loop = try EventLoop(name: "test")
    let result = try await body(loop)
    loop.stop()
    return result
  }

  private func inMs(_ delayMs: Int64) -> MonotonicTime {
    MonotonicClock.now().adding(milliseconds: delayMs)
  }

  @Test("a task started on the loop runs on its thread, before and after it suspends")
  func taskRunsOnLoop() async throws {
    try await withLoop { loop in
      let task = Task(executorPreference: loop) {
        var seen = [loop.isCurrentThread]
        await Task.yield()
        seen.append(loop.isCurrentThread)
        await loop.sleep(until: MonotonicClock.now().adding(milliseconds: 1))
        seen.append(loop.isCurrentThread)
        return seen
      }
      #expect(await task.value == [true, true, true])
      #expect(!loop.isCurrentThread)
    }
  }

  private actor Resident {
    let loop: EventLoop
    init(_ loop: EventLoop) { self.loop = loop }
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      loop.serialExecutor.asUnownedSerialExecutor()
    }
    var calls = 0
    func call() -> Bool {
      calls += 1
      return loop.isCurrentThread
    }
  }

  @Test("an actor can live on the loop")
  func actorRunsOnLoop() async throws {
    try await withLoop { loop in
      let resident = Resident(loop)
      for _ in 0..<10 { #expect(await resident.call()) }
      #expect(await resident.calls == 10)
    }
  }

  @Test("a job knows the time at which it began, however long those before it have run")
  func timeOfJob() async throws {
    try await withLoop { loop in
      let (end, seen) = await Task(executorPreference: loop) {
        let end = MonotonicClock.now().adding(milliseconds: 20)
        // Both are queued by this job, and so run in one round of the loop.
        let long = Task(executorPreference: loop) {
          while MonotonicClock.now() < end {}
        }
        let next = Task(executorPreference: loop) { loop.now }
        await long.value
        return (end, await next.value)
      }.value
      #expect(seen >= end)
    }
  }

  @Test("timers fire in the order of their due times, and cancelled ones do not")
  func timerOrder() async throws {
    try await withLoop { loop in
      let fired = Mutex<[Int]>([])
      let due = inMs(20)
      await withCheckedContinuation { continuation in
        for index in [3, 1, 2, 0] {
          loop.schedule(at: due.adding(milliseconds: Int64(index))) {
            fired.withLock { $0.append(index) }
            if index == 3 { continuation.resume() }
          }
        }
        let cancelled = loop.schedule(at: due) { fired.withLock { $0.append(99) } }
        #expect(cancelled.cancel())
        #expect(!cancelled.cancel())
      }
      #expect(fired.withLock { $0 } == [0, 1, 2, 3])
      #expect(MonotonicClock.now() >= due)
    }
  }

  @Test("many timers set and cancelled in a shuffled order leave exactly the others")
  func timerHeap() async throws {
    try await withLoop { loop in
      let fired = Mutex<Set<Int>>([])
      let due = inMs(50)
      // On the loop's own thread, so that none comes due before all are set and cancelled.
      let cancelled = await Task(executorPreference: loop) {
        var timers: [Int: ScheduledTimer] = [:]
        for index in (0..<500).shuffled() {
          timers[index] = loop.schedule(at: due.adding(milliseconds: Int64(index % 7))) {
            _ = fired.withLock { $0.insert(index) }
          }
        }
        return (0..<500).shuffled().count { $0 % 3 != 0 && timers[$0]?.cancel() == true }
      }.value
      #expect(cancelled == (0..<500).count { $0 % 3 != 0 })
      await loop.sleep(until: due.adding(milliseconds: 10))
      #expect(fired.withLock { $0 } == Set((0..<500).filter { $0 % 3 == 0 }))
    }
  }

  /// Waits until the loop sleeps: it has not been woken for a while, by another one's clock.
  private func sleeps(_ loop: EventLoop) async throws {
    let other = try EventLoop(name: "other")
    var before = -1
    while before != loop.wakeUpCount {
      before = loop.wakeUpCount
      await other.sleep(until: inMs(20))
    }
    other.stop()
  }

  @Test("a loop that sleeps towards a timer far away sees a nearer one of another thread's")
  func nearerTimer() async throws {
    try await withLoop { loop in
      loop.schedule(afterMs: 3_600_000) {}
      for delayMs in [30, 0] as [Int64] {
        try await sleeps(loop)
        let due = inMs(delayMs)
        await withCheckedContinuation { continuation in
          _ = loop.schedule(at: due) { continuation.resume() }
        }
        #expect(MonotonicClock.now() >= due)
        #expect(MonotonicClock.now().milliseconds(since: due) < 30_000)
      }
    }
  }

  @Test("of an alarm's timers the latest setting rings, whoever carries it out last, and no other")
  func alarmTimer() async throws {
    try await withLoop { loop in
      let timer = AlarmTimer()
      let rung = Mutex<[UInt64]>([])
      let due = inMs(200)
      var alarm = Alarm()
      let settings = (0..<50).compactMap { alarm.set(for: due.adding(milliseconds: -$0)) }
      #expect(settings.count == 50)
      // Two threads may carry out two settings in either order.
      for setting in settings.dropLast() + [settings[49], settings[3]] {
        timer.set(setting, on: loop) { rung.withLock { $0.append(setting.number) } }
      }
      await loop.sleep(until: due.adding(milliseconds: 50))
      #expect(rung.withLock { $0 } == [settings[49].number])

      let didRing = alarm.rang(settings[49])
      #expect(didRing)
      let last = try #require([alarm.set(for: inMs(100))].first ?? nil)
      timer.set(last, on: loop) { rung.withLock { $0.append(last.number) } }
      timer.cancel()
      await loop.sleep(until: last.due.adding(milliseconds: 50))
      #expect(rung.withLock { $0.count } == 1)
    }
  }

  @Test("an idle loop is not woken, also not with timers and deadlines far away")
  func idleLoopSleeps() async throws {
    try await withLoop { loop in
      loop.schedule(afterMs: 3_600_000) {}
      let listener = try Listener(.loopback(port: 0), on: loop)
      let client = try await Socket.connect(to: listener.address, on: loop)
      let reader = Task { try? await client.waitUntilReadable(until: inMs(3_600_000)) }
      let other = try EventLoop(name: "other")
      await other.sleep(until: inMs(20))
      let before = loop.wakeUpCount
      await other.sleep(until: inMs(50))
      #expect(loop.wakeUpCount == before)
      client.close()
      await reader.value
      other.stop()
    }
  }

  private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var total: Int { count.load(ordering: .relaxed) }
    func add() { count.wrappingAdd(1, ordering: .relaxed) }
  }

  @Test("jobs sent from many threads all run")
  func manySenders() async throws {
    try await withLoop { loop in
      let count = Counter()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            for _ in 0..<50 {
              await Task(executorPreference: loop) {
                count.add()
              }.value
            }
          }
        }
      }
      #expect(count.total == 10_000)
    }
  }

  @Test("a cancelled sleep ends at once")
  func cancelledSleep() async throws {
    try await withLoop { loop in
      let task = Task(executorPreference: loop) {
        await loop.sleep(until: MonotonicTime(nanoseconds: .max))
        return true
      }
      await loop.sleep(until: inMs(5))
      task.cancel()
      #expect(await task.value)
    }
  }

  @Test("a thread runs its body, and join waits for it")
  func thread() throws {
    let done = Atomic<Bool>(false)
    let thread = try Thread.spawn(name: "a name longer than fifteen bytes") {
      done.store(true, ordering: .releasing)
    }
    thread.join()
    thread.join()
    let isDone = done.load(ordering: .acquiring)
    #expect(isDone)
  }
}
