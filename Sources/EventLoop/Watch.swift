import CLinux
import Glibc
import RelayCore
import Synchronization

/// The end of a wait for readiness.
enum WaitOutcome {
  case ready
  case timedOut
  case closed
}

/// The one that waits for a descriptor.
private enum Waiter {
  /// A task, which is resumed.
  case task(UnsafeContinuation<WaitOutcome, Never>)
  /// A function, which is called.
  case action(@Sendable () -> Void)

  func resume(returning outcome: WaitOutcome) {
    switch self {
    case .task(let continuation): continuation.resume(returning: outcome)
    case .action(let action): action()
    }
  }
}

/// One watched descriptor: its readiness, and the tasks that wait for it.
///
/// Every system call on the descriptor is made under its lock. The calls never block. So a close
/// from another thread can neither hit a descriptor in use, nor free a number for reuse during a
/// call.
final class Watch: Sendable {
  private struct Direction {
    /// Whether a call might succeed: set by the kernel's reports, cleared by a call that used
    /// everything up.
    var mayProceed: Bool
    var waiter: Waiter?
    var deadline = Int64.max

    /// Begins a wait, or returns at once how it ended.
    mutating func begin(_ new: Waiter, _ until: MonotonicTime?) -> WaitOutcome? {
      if mayProceed { return .ready }
      precondition(waiter == nil, "two tasks wait for one direction of one descriptor")
      waiter = new
      deadline = until?.nanoseconds ?? Int64.max
      return nil
    }

    mutating func takeWaiter() -> Waiter? {
      defer {
        waiter = nil
        deadline = Int64.max
      }
      return waiter
    }
  }

  private struct State: ~Copyable {
    var descriptor: FileDescriptor?
    /// Registering a descriptor reports what can be read already (epoll(7)).
    ///
    /// Nothing is tried before that, so that a silent connection gets no further than to wait.
    var input = Direction(mayProceed: false)
    var output = Direction(mayProceed: true)
    /// Whether the peer will send no more; no later edge announces it, so input stays "may
    /// proceed".
    var inputEnds = false
    /// Whether the connection is gone in both directions.
    var isHungUp = false
    /// The function to call once when the peer will send no more.
    var onInputEnd: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>
  let loop: EventLoop

  init(_ descriptor: consuming FileDescriptor, loop: EventLoop) {
    state = Mutex(State(descriptor: consume descriptor))
    self.loop = loop
  }

  /// Whether the connection is gone in both directions (reset, or closed by both).
  var isHungUp: Bool { state.withLock { $0.isHungUp } }

  /// Calls an action once when the peer will send no more; at once if that is so already, and never
  /// if the descriptor is closed first.
  ///
  /// - Parameter action: Called on the loop's thread, or on the caller's; must not block.
  func onInputEnd(_ action: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      guard state.descriptor != nil else { return false }
      if !state.inputEnds { state.onInputEnd = action }
      return state.inputEnds
    }
    if hasEnded { action() }
  }

  /// Runs a system call that takes from the descriptor; nil if the caller has to wait first.
  ///
  /// - Parameter full: The result after which there may be more; any smaller one shows that the
  ///   kernel's buffer is empty now (epoll(7), question 9).
  func input<Result: FixedWidthInteger & SignedInteger & Sendable>(
    _ operation: StaticString, full: Result, _ body: (Int32) -> Result
  ) throws(SystemError) -> Result? {
    try state.withLock { (state) throws(SystemError) -> Result? in
      guard let number = state.descriptor?.number else { throw Self.closed(operation) }
      guard state.input.mayProceed else { return nil }
      let result = try nonBlockingCall(operation) { body(number) }
      if result.map({ $0 < full }) ?? true { state.input.mayProceed = state.inputEnds }
      return result
    }
  }

  /// Runs a system call that gives to the descriptor; nil if the caller has to wait first.
  func output<Result: FixedWidthInteger & SignedInteger & Sendable>(
    _ operation: StaticString, full: Result, _ body: (Int32) -> Result
  ) throws(SystemError) -> Result? {
    try state.withLock { (state) throws(SystemError) -> Result? in
      guard let number = state.descriptor?.number else { throw Self.closed(operation) }
      guard state.output.mayProceed else { return nil }
      let result = try nonBlockingCall(operation) { body(number) }
      if result.map({ $0 < full }) ?? true { state.output.mayProceed = state.isHungUp }
      return result
    }
  }

  /// Runs any other call on the descriptor while it is open.
  func withDescriptor<Result: Sendable>(
    _ operation: StaticString, _ body: (Int32) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    try state.withLock { (state) throws(SystemError) -> Result in
      guard let number = state.descriptor?.number else { throw Self.closed(operation) }
      return try body(number)
    }
  }

  /// Waits until there may be something to take; for at most one task at a time.
  func waitForInput(until deadline: MonotonicTime?) async -> WaitOutcome {
    await withUnsafeContinuation { continuation in
      let outcome: WaitOutcome? = state.withLock { state in
        guard state.descriptor != nil else { return .closed }
        return state.input.begin(.task(continuation), deadline)
      }
      park(continuation, outcome, deadline)
    }
  }

  /// Whether waiting for input would end at once: there may be some, or the descriptor is closed.
  var mayTake: Bool { state.withLock { $0.descriptor == nil || $0.input.mayProceed } }

  /// Ends a wait for input as if there were some: the present wait, or else the next.
  ///
  /// The resumed reader asks the kernel what there is.
  func wakeReader() {
    let reader = state.withLock { state -> Waiter? in
      guard state.descriptor != nil else { return nil }
      state.input.mayProceed = true
      return state.input.takeWaiter()
    }
    reader?.resume(returning: .ready)
  }

  /// Calls an action once when there may be something to take, the deadline has passed or the
  /// descriptor was closed.
  ///
  /// Such a wait costs no task.
  ///
  /// - Parameter action: Called on the loop's thread, or by the thread that closes; must not block.
  /// - Returns: False if there is nothing to wait for; the action is not called then.
  func onInput(until deadline: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> Bool {
    let outcome: WaitOutcome? = state.withLock { state in
      guard state.descriptor != nil else { return .closed }
      return state.input.begin(.action(action), deadline)
    }
    guard outcome == nil else { return false }
    loop.note(deadline: deadline)
    return true
  }

  /// Waits until there may be room to give; for at most one task at a time.
  func waitForOutput(until deadline: MonotonicTime?) async -> WaitOutcome {
    await withUnsafeContinuation { continuation in
      let outcome: WaitOutcome? = state.withLock { state in
        guard state.descriptor != nil else { return .closed }
        return state.output.begin(.task(continuation), deadline)
      }
      park(continuation, outcome, deadline)
    }
  }

  private func park(
    _ continuation: UnsafeContinuation<WaitOutcome, Never>, _ outcome: WaitOutcome?,
    _ deadline: MonotonicTime?
  ) {
    if let outcome { return continuation.resume(returning: outcome) }
    if let deadline { loop.note(deadline: deadline) }
  }

  /// Notes that output cannot proceed before the next report.
  func expectOutput() {
    state.withLock { $0.output.mayProceed = $0.isHungUp }
  }

  /// Closes the descriptor; waiting tasks are resumed with ``WaitOutcome/closed``.
  func close() {
    let waiters = state.withLock { state -> [Waiter?] in
      guard let number = state.descriptor?.number else { return [] }
      loop.unwatch(number)
      state.descriptor = nil
      state.onInputEnd = nil
      return [state.input.takeWaiter(), state.output.takeWaiter()]
    }
    for waiter in waiters { waiter?.resume(returning: .closed) }
  }

  /// Applies a report of the kernel; called on the loop's thread.
  func notice(_ bits: UInt32) {
    let gone = bits & (waystation_epoll_err | waystation_epoll_hup) != 0
    let ends = gone || bits & waystation_epoll_rdhup != 0
    let (reader, writer, onInputEnd) = state.withLock { state in
      if gone { state.isHungUp = true }
      var onInputEnd: (@Sendable () -> Void)?
      if ends {
        state.inputEnds = true
        swap(&onInputEnd, &state.onInputEnd)
      }
      var reader: Waiter?
      var writer: Waiter?
      if ends || bits & waystation_epoll_in != 0 {
        state.input.mayProceed = true
        reader = state.input.takeWaiter()
      }
      if gone || bits & waystation_epoll_out != 0 {
        state.output.mayProceed = true
        writer = state.output.takeWaiter()
      }
      return (reader, writer, onInputEnd)
    }
    reader?.resume(returning: .ready)
    writer?.resume(returning: .ready)
    onInputEnd?()
  }

  /// Wakes waits whose deadline has passed, and returns the earliest deadline that is left.
  func expire(at now: Int64) -> Int64 {
    let (reader, writer, next) = state.withLock { state in
      let reader = state.input.deadline <= now ? state.input.takeWaiter() : nil
      let writer = state.output.deadline <= now ? state.output.takeWaiter() : nil
      return (reader, writer, min(state.input.deadline, state.output.deadline))
    }
    reader?.resume(returning: .timedOut)
    writer?.resume(returning: .timedOut)
    return next
  }

  private static func closed(_ operation: StaticString) -> SystemError {
    SystemError(code: ECANCELED, operation: operation)
  }
}
