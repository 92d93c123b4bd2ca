import EventLoop
import Synchronization

/// The tasks that serve the connections of one event loop, each of them one at a time.
///
/// A task keeps the memory of the deepest call that it was ever in, so there are as many as
/// requests are under way, and not as connections are open. Making one costs a tenth of a small
/// request, so those that have nothing to do wait for the next one: the last of them goes first,
/// since the processor has its memory at hand.
final class Workers: Sendable {
  /// How many tasks wait for work at the most: as many as requests are commonly under way at once.
  static let idleMax = 256

  private struct Idle {
    let worker: Worker
    let continuation: UnsafeContinuation<Connection?, Never>
  }

  private struct State {
    var idle: [Idle] = []
    var isOver = false
  }

  private let loop: EventLoop
  private let state = Mutex(State())

  init(on loop: EventLoop) { self.loop = loop }

  /// Has a connection served; from any thread.
  func serve(_ connection: Connection) {
    if let idle = state.withLock({ $0.idle.popLast() }) {
      idle.continuation.resume(returning: connection)
    } else {
      Worker().begin(connection, among: self, on: loop)
    }
  }

  /// Lets go of the tasks that have nothing to do, and of the others once they are done.
  func dismiss() {
    let idle = state.withLock { state in
      state.isOver = true
      defer { state.idle = [] }
      return state.idle
    }
    for one in idle { one.continuation.resume(returning: nil) }
  }

  /// Waits for work; nil where a worker is not wanted any more.
  fileprivate func next(for worker: Worker) async -> Connection? {
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
    _ first: Connection, among workers: Workers, on loop: EventLoop
  ) {
    // Under the lock, so that the task is known before it can be asked for.
    task.withLock { task in
      task = Task(executorPreference: loop) { [self] in
        var next: Connection? = first
        while let connection = next {
          guard await connection.takeTurn(with: self) else { return }
          next = await workers.next(for: self)
        }
      }
    }
  }

  /// Cancels the task, which then serves nobody after the connection that it is at.
  func cancel() {
    task.withLock { $0 }?.cancel()
  }
}
