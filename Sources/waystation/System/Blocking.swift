import EventLoop
import Glibc
import Synchronization

/// Runs asynchronous work on an event loop from a thread that has nothing else to do.
enum Blocking {
  /// Waits for the work to end, without using the processor.
  static func run(
    on loop: EventLoop, _ work: @escaping @Sendable () async -> ExitCode
  ) -> ExitCode {
    let result = Result()
    Task(executorPreference: loop) { result.set(await work()) }
    return result.wait()
  }

  /// A value that one thread waits for; safe to use without a timeout, since `work` always ends.
  private final class Result: Sendable {
    private let code = Mutex<ExitCode>(.failed)
    private let semaphore: Semaphore = Semaphore()

    func set(_ code: ExitCode) {
      self.code.withLock { $0 = code }
      semaphore.signal()
    }

    func wait() -> ExitCode {
      semaphore.wait()
      return code.withLock { $0 }
    }
  }

  // Sound: sem_post and sem_wait may be called by any threads at once (sem_overview(7)). The memory
  // stays where it is until the last reference is gone.
  private final class Semaphore: @unchecked Sendable {
    private let pointer = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(pointer, 0, 0) }

    deinit {
      sem_destroy(pointer)
      pointer.deallocate()
    }

    func signal() { sem_post(pointer) }

    func wait() {
      while sem_wait(pointer) != 0 {}  // EINTR is the one way to fail.
    }
  }
}
