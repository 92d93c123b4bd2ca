import EventLoop
import RelayCore
import Synchronization

/// Keeps the history: counts in memory, and writes each minute once it is over.
///
/// Whatever happens first in a minute sets a timer for its end; while nothing happens there is
/// none. A write that fails stands in nobody's way: it is logged, and made up for by a later one.
final class HistoryKeeper: Sendable {
  /// The least time until a minute is looked at again that was not over yet, in milliseconds.
  private static let restMs: Int64 = 1000
  /// The time that a look waits for a write under way, in milliseconds, and the steps of that wait.
  private static let patienceMs: Int64 = 1000
  private static let stepMs: Int64 = 5

  /// The number of waiting envelopes for each upstream, and in all.
  typealias Waiting = (each: [UpstreamNumber: Int], all: Int)

  private struct State {
    var book = HistoryBook()
    var waiting: (@Sendable () -> Waiting)?
    var alarm: ScheduledTimer?
    /// The rows on their way to the disk.
    var writing: [HistoryRow] = []
    var isWriting = false
    /// The number of writes begun.
    var writeCount = 0
    var isFailing = false
  }

  private let store: any EnvelopeStore
  private let loop: EventLoop
  private let clock: @Sendable () -> Now
  private let log: Log
  private let state = Mutex(State())

  init(
    store: any EnvelopeStore, loop: EventLoop, clock: @escaping @Sendable () -> Now, log: Log
  ) {
    self.store = store
    self.loop = loop
    self.clock = clock
    self.log = log
  }

  /// A configuration is in force, with these upstreams in its order.
  ///
  /// Notes the number of waiting envelopes anew, since a removed upstream is counted with the
  /// others.
  func add(_ upstreams: [UpstreamNumber]) {
    let now = clock().wall
    state.withLock { state in
      state.book.add(upstreams)
      state.book.look(at: now)
    }
  }

  /// Begins, once the waiting envelopes have been taken up.
  ///
  /// Their number is noted as of now, although the minute in which the last process was killed is
  /// not known. It is written with the next event.
  func start(waiting: @escaping @Sendable () -> Waiting) {
    let now = clock().wall
    state.withLock { state in
      state.waiting = waiting
      state.book.look(at: now)
    }
  }

  // MARK: - Each minute

  /// Sets the timer for the end of the minute unless it is set, or there is nothing to be written.
  private func arm(_ state: inout State, _ now: Now, leastMs: Int64) {
    guard state.alarm == nil, state.waiting != nil, state.book.isRunning else { return }
    let restMs = Minute(of: now.wall).end.milliseconds(since: now.wall)
    // Of a clock that shows a time before 1970 nobody knows when its minute is over.
    let afterMs = min(max(restMs, leastMs), Minute.ms)
    state.alarm = loop.schedule(at: now.monotonic.adding(milliseconds: afterMs)) { self.ring() }
  }

  private func ring() {
    state.withLock { $0.alarm = nil }
    close(isLast: false)
    state.withLock { arm(&$0, clock(), leastMs: Self.restMs) }
    Task(executorPreference: loop) { [self] in await write() }
  }

  private func close(isLast: Bool) {
    // Asked without the lock: who counts may hold the dispatcher's.
    guard let waiting = state.withLock({ $0.waiting })?() else { return }
    state.withLock { $0.book.close(at: clock().wall, waiting: waiting, isLast: isLast) }
  }

  // MARK: - Writing

  /// Writes what is whole, a part at a time.
  private func write() async {
    let mayBegin = state.withLock { state in
      guard !state.isWriting else { return false }
      state.isWriting = true
      state.writeCount += 1
      state.writing = state.book.takeWhole()
      return true
    }
    guard mayBegin else { return }
    var error: StoreError?
    while error == nil {
      let part = state.withLock { Array($0.writing.prefix(HistoryLimits.rowsPerWriteMax)) }
      guard !part.isEmpty else { break }
      do throws(StoreError) {
        try await store.writeHistory(part, now: Minute(of: clock().wall))
        state.withLock { $0.writing.removeFirst(part.count) }
        log.debug("the history was written", ("rows", .integer(Int64(part.count))))
      } catch let trouble {
        error = trouble
      }
    }
    finish(error)
  }

  private func finish(_ error: StoreError?) {
    let isNews = state.withLock { state in
      state.book.putBack(state.writing)
      state.writing = []
      state.isWriting = false
      defer { state.isFailing = error != nil }
      return (error != nil) != state.isFailing
    }
    guard isNews else { return }
    if let error {
      log.repeating(
        .warning, "the history cannot be written; what it misses is kept in memory for an hour",
        about: "", .usual, ("error", .text(error.description)))
    } else {
      log.repeating(.info, "the history is written again", about: "")
    }
  }

  /// Writes all there is, the running minute included; before the store is closed.
  func stop() async {
    let alarm = state.withLock { state in
      defer { state.alarm = nil }
      return state.alarm
    }
    _ = alarm?.cancel()
    // What was handed to the store before this is told before it returns.
    try? await store.writeHistory([], now: Minute(of: clock().wall))
    close(isLast: true)
    _ = await settled()
    await write()
  }

  // MARK: - Showing

  /// Waits until no write is under way, but not for long.
  ///
  /// - Returns: How many writes have begun, and what is not written.
  private func settled() async -> (writeCount: Int, unwritten: [HistoryRow]) {
    let end = clock().monotonic.adding(milliseconds: Self.patienceMs)
    while true {
      let (isWriting, writeCount, unwritten) = state.withLock { state in
        (state.isWriting, state.writeCount, state.writing + state.book.unwritten)
      }
      let now = clock().monotonic
      if !isWriting || now >= end { return (writeCount, unwritten) }
      await pause()
    }
  }

  /// Waits for a moment, also in a task that is cancelled.
  private func pause() async {
    await withUnsafeContinuation { continuation in
      _ = loop.schedule(afterMs: Self.stepMs) { continuation.resume() }
    }
  }

  /// The figures of a span up to now.
  ///
  /// - Parameter upstream: Whose; nil for all.
  func series(
    of span: HistorySpan, _ upstream: UpstreamNumber?
  ) async throws(StoreError) -> HistorySeries {
    close(isLast: false)
    while true {
      let (writeCount, unwritten) = await settled()
      let empty = HistorySeries(span, before: clock().wall)
      var series = try await store.readHistory(into: empty, of: upstream)
      // A write that began meanwhile may have been read, and may not: it is asked again.
      guard state.withLock({ $0.writeCount }) == writeCount else { continue }
      for row in unwritten where upstream == nil || row.place.upstream == upstream {
        series.add(row)
      }
      return series
    }
  }

  /// Under which number an upstream's history is kept.
  func number(of upstream: UpstreamNumber) -> UpstreamNumber {
    state.withLock { $0.book.number(of: upstream) }
  }
}

extension HistoryKeeper: CommitListener {
  /// Counts what happened at each upstream; the scheduler knows of it, and so how much waits then.
  func committed(_ commit: Commit, at now: Now) {
    guard !commit.changes.isEmpty else { return }
    state.withLock { state in
      state.book.count(commit, at: now.wall)
      arm(&state, now, leastMs: 0)
    }
  }
}
