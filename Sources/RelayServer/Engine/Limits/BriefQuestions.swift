import EventLoop
import RelayCore
import Synchronization

/// Asks the store for those to whom less is shown rather than that they wait.
///
/// A question that is waited for no longer goes on until the store has answered, or given up. Until
/// then nothing is asked here, so that there are never many of them.
final class BriefQuestions: Sendable {
  /// The longest wait, in milliseconds.
  static let waitMs: Int64 = 2000

  /// How many are waited for no longer, and go on.
  private let overdue = Mutex(0)

  /// The latest time for an answer to one who asks now.
  static func deadline(at now: MonotonicTime) -> MonotonicTime {
    now.adding(milliseconds: waitMs)
  }

  /// Asks, and waits until a time; nil if there is no answer by then, or nothing is asked.
  func ask<Answer: Sendable>(
    on loop: EventLoop, until deadline: MonotonicTime,
    _ question: @escaping @Sendable () async -> Answer
  ) async -> Answer? {
    guard overdue.withLock({ $0 == 0 }) else { return nil }
    let wait = Wait<Answer>()
    Task(executorPreference: loop) { [self] in
      let answer = await question()
      if !wait.end(with: answer) { overdue.withLock { $0 -= 1 } }
    }
    let timer = loop.schedule(at: deadline) { [self] in
      // Counted before it ends, so that its answer does not come in between.
      overdue.withLock { $0 += 1 }
      if !wait.end(with: nil) { overdue.withLock { $0 -= 1 } }
    }
    defer { timer.cancel() }
    return await wait.answer()
  }

  /// The wait for one answer.
  private final class Wait<Answer: Sendable>: Sendable {
    private enum State {
      case begun
      case waiting(UnsafeContinuation<Answer?, Never>)
      case over(Answer?)
    }

    private let state = Mutex(State.begun)

    /// Ends it with an answer, or without one.
    ///
    /// - Returns: false if it had ended.
    func end(with answer: Answer?) -> Bool {
      let (isFirst, waiter) = state.withLock { state in
        switch state {
        case .begun:
          state = .over(answer)
          return (true, UnsafeContinuation<Answer?, Never>?.none)
        case .waiting(let waiter):
          state = .over(answer)
          return (true, waiter)
        case .over:
          return (false, nil)
        }
      }
      waiter?.resume(returning: answer)
      return isFirst
    }

    /// Waits for its end.
    ///
    /// - Precondition: called once.
    func answer() async -> Answer? {
      await withUnsafeContinuation { continuation in
        let answer = state.withLock { state -> Answer?? in
          if case .over(let answer) = state { return .some(answer) }
          state = .waiting(continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    }
  }
}
