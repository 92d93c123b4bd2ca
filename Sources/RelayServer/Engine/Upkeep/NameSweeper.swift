import EventLoop
import RelayCore
import Synchronization

/// Forgets clients and lanes that nothing refers to any more, in small steps.
final class NameSweeper: Sendable {
  /// The number of names forgotten in a step: no post is stored meanwhile.
  static let stepCountMax = 250
  /// The pause between two steps, in milliseconds.
  static let stepPauseMs: Int64 = 5
  /// The least time from one round's beginning to the next one's, in milliseconds: a round goes
  /// along the whole line.
  static let periodMs: Int64 = 3_600_000

  private struct State {
    var isAtWork = false
    var isStopped = false
    var dueAt: MonotonicTime?
  }

  private let store: any EnvelopeStore
  private let loop: EventLoop
  private let log: Log
  private let state = Mutex(State())

  init(store: any EnvelopeStore, loop: EventLoop, log: Log) {
    self.store = store
    self.loop = loop
    self.log = log
  }

  /// Begins a round, if the last one began long enough ago and is over.
  func sweepIfDue() {
    let now = MonotonicClock.now()
    let isDue = state.withLock { state in
      guard !state.isStopped, !state.isAtWork, state.dueAt.map({ $0 <= now }) ?? true else {
        return false
      }
      state.isAtWork = true
      state.dueAt = now.adding(milliseconds: Self.periodMs)
      return true
    }
    guard isDue else { return }
    Task(executorPreference: loop) {
      await self.sweep()
      self.state.withLock { $0.isAtWork = false }
    }
  }

  func stop() { state.withLock { $0.isStopped = true } }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  private func sweep() async {
    var forgottenCount = 0
    do throws(StoreError) {
      while !isStopped {
        let page = try await store.forgetNames(countMax: Self.stepCountMax)
        forgottenCount += page.forgottenCount
        if page.isRoundDone { break }
        await loop.sleep(until: MonotonicClock.now().adding(milliseconds: Self.stepPauseMs))
      }
    } catch  where error.kind == .closed {
      return
    } catch {
      log.repeating(
        .error, "unused names could not be forgotten", about: "\(error.kind)", .usual,
        ("error", .text(error.description)))
    }
    if forgottenCount > 0 {
      log.debug("unused names were forgotten", ("count", .integer(Int64(forgottenCount))))
    }
  }
}
