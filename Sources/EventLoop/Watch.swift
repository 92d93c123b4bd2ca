import CLinux
import Glibc
import RelayCore
import Synchronization

/// How a wait for readiness ended.
enum WaitOutcome {
  case ready
  case timedOut
  case closed
}

/// Who waits for a descriptor.
private enum Waiter {
  /// A task, which goes on.
  case task(UnsafeContinuation<WaitOutcome, Never>)
  /// Nobody yet: what is called begins one.
  case action(@Sendable () -> Void)

  func resume(returning outcome: WaitOutcome) {
    switch self {
    case .task(let continuation): continuation.resume(returning: outcome)
    case .action(let action): action()
    }
  }
}

/// One watched descriptor: whether it is ready, and which tasks wait for it.
///
/// Every system call on the descriptor happens under its lock. They never block, and so a close
/// from another thread can neither hit a descriptor in use nor let a number be used again under
/// somebody's hands.
final class Watch: Sendable {
  private struct Direction {
    /// Whether a call might succeed: set by the kernel's reports, cleared by a call that found
    /// nothing left.
    var mayProceed: Bool
    var waiter: Waiter?
    var deadline = Int64.max

    /// Has somebody wait, or says at once how the wait ended.
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
    /// Registering a descriptor reports what it has to read already (epoll(7)): nothing is tried
    /// before that, so that a connection which stays silent gets no further than to wait.
    var input = Direction(mayProceed: false)
    var output = Direction(mayProceed: true)
    /// The peer will send no more; no later edge announces it, so input stays "may proceed".
    var inputEnds = false
    /// The connection is gone in both directions.
    var isHungUp = false
    /// Whom to tell, once, that the peer will send no more.
    var onInputEnd: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>
  let loop: EventLoop

  init(_ descriptor: consuming FileDescriptor, loop: EventLoop) {
    state = Mutex(State(descriptor: consume descriptor))
    self.loop = loop
  }

  /// Whether the peer has gone altogether (reset, or closed in both directions).
  var isHungUp: Bool { state.withLock { $0.isHungUp } }

  /// Has it told, once, when the peer will send no more; at once if that is so already, and never
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

  /// Runs a system call that takes from the descriptor; nil where the caller has to wait first.
  ///
  /// - Parameter full: The result that leaves open whether there is more; anything smaller shows
  ///   that the kernel's buffer is empty now (epoll(7), question 9).
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

  /// Runs a system call that gives to the descriptor; nil where the caller has to wait first.
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

  /// Waits until there may be something to take; at most one task at a time.
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

  /// Has a wait for input end as if there were some; the next one, where nobody waits.
  ///
  /// Who goes on from it asks the kernel, which says what there is.
  func wakeReader() {
    let reader = state.withLock { state -> Waiter? in
      guard state.descriptor != nil else { return nil }
      state.input.mayProceed = true
      return state.input.takeWaiter()
    }
    reader?.resume(returning: .ready)
  }

  /// Has an action called, once, when there may be something to take, when a deadline has passed
  /// or when the descriptor was closed: a wait that costs no task.
  ///
  /// - Parameter action: Called on the loop's thread, or by whoever closes; must not block.
  /// - Returns: False, and nobody is called, where there is nothing to wait for.
  func onInput(until deadline: MonotonicTime, _ action: @escaping @Sendable () -> Void) -> Bool {
    let outcome: WaitOutcome? = state.withLock { state in
      guard state.descriptor != nil else { return .closed }
      return state.input.begin(.action(action), deadline)
    }
    guard outcome == nil else { return false }
    loop.note(deadline: deadline)
    return true
  }

  /// Waits until there may be room to give; at most one task at a time.
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

  /// Forgets that output might go on, since it is known that it cannot before the next report.
  func expectOutput() {
    state.withLock { $0.output.mayProceed = $0.isHungUp }
  }

  /// Closes the descriptor; tasks that wait for it go on with ``WaitOutcome/closed``.
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

  /// Takes in a report of the kernel's; on the loop's thread.
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

  /// Wakes waits whose deadline has passed; returns the earliest deadline that is left.
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
