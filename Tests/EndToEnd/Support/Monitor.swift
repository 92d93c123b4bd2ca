import Foundation

/// Something that was waited for did not come about in time.
struct TimeLimitExceeded: Error, CustomStringConvertible {
  /// What was waited for, and what was there instead.
  let description: String
}

/// A value that threads change, and that a test waits for.
// Sound: `state` is touched only while `condition` is locked.
final class Monitor<State>: @unchecked Sendable {
  private var state: State
  private let condition = NSCondition()

  init(_ state: State) { self.state = state }

  /// Changes the value, and wakes whoever waits for it.
  func change<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    condition.lock()
    defer {
      condition.broadcast()
      condition.unlock()
    }
    return try body(&state)
  }

  /// Looks at the value.
  func read<Result>(_ body: (State) throws -> Result) rethrows -> Result {
    condition.lock()
    defer { condition.unlock() }
    return try body(state)
  }

  /// Blocks the calling thread until `condition` gives something; nil once the time is up.
  func block<Result>(seconds: Double, until isDone: (inout State) throws -> Result?) rethrows
    -> Result?
  {
    let limit = Date(timeIntervalSinceNow: seconds)
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let result = try isDone(&state) { return result }
      if !condition.wait(until: limit) { return try isDone(&state) }
    }
  }

  /// Waits until `condition` gives something.
  ///
  /// - Throws: ``TimeLimitExceeded`` with `what` and the value, once the time is up.
  func wait<Result: Sendable>(
    _ what: String, seconds: Double = 20, until isDone: @escaping @Sendable (inout State) -> Result?
  ) async throws -> Result {
    try await onThread {
      if let result = self.block(seconds: seconds, until: isDone) { return result }
      let found = self.read { String(String(describing: $0).prefix(4000)) }
      throw TimeLimitExceeded(description: "after \(seconds) s still no \(what); found: \(found)")
    }
  }
}

/// Runs what blocks on a thread of its own, so that it keeps no task from going on.
func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}
