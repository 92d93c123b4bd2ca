import EventLoop
import Synchronization

/// The tasks that serve the connections of one event loop, each one connection at a time.
///
/// A task keeps the memory of its deepest call, so there are as many tasks as requests under way,
/// and not as connections. Making one costs a tenth of a small request, so idle tasks wait for the
/// next one. The last to become idle goes first, since its memory is still in the processor's
/// cache.
final class Workers: Sendable {
  /// The most idle tasks: as many as requests are commonly under way at once.
  static let idleMax = 256

  private struct Idle {
    let worker: Worker
    let continuation: UnsafeContinuation<ServerConnection?, Never>
  }

  private struct State {
    var idle: [Idle] = []
    var isOver = false
  }

  private let loop: EventLoop
  private let state = Mutex(State())

  init(on loop: EventLoop) { self.loop = loop }

  /// Has a connection served; may be called from any thread.
  func serve(_ connection: ServerConnection) {
    if let idle = state.withLock({ $0.idle.popLast() }) {
      idle.continuation.resume(returning: connection)
    } else {
      Worker().begin(connection, among: self, on: loop)
    }
  }

  /// Ends the idle tasks, and the others once they are done.
  func dismiss() {
    let idle = state.withLock { state in
      state.isOver = true
      defer { state.idle = [] }
      return state.idle
    }
    for one in idle { one.continuation.resume(returning: nil) }
  }

  /// Waits for work; nil if the worker is not needed any more.
  fileprivate func next(for worker: Worker) async -> ServerConnection? {
    await withUnsafeContinuation { continuation in
      let isKept = state.withLock { state in
        guard !state.isOver, state.idle.count < Self.idleMax else { return false }
        state.idle.append(Idle(worker: worker, continuation: continuation))
        return true
      }
      if !isKept { continuation.resume(returning: nil) }
    }
  }
}

/// A task that serves one connection after another.
final class Worker: Sendable {
  private let task = Mutex<Task<Void, Never>?>(nil)

  fileprivate func begin(
    _ first: ServerConnection, among workers: Workers, on loop: EventLoop
  ) {
    // Under the lock, so that the task is known before it can be cancelled.
    task.withLock { task in
      task = Task(executorPreference: loop) { [self] in
        var next: ServerConnection? = first
        while let connection = next {
          guard await connection.takeTurn(with: self) else { return }
          next = await workers.next(for: self)
        }
      }
    }
  }

  /// Cancels the task, which then serves no further connection after the present one.
  func cancel() {
    task.withLock { $0 }?.cancel()
  }
}
