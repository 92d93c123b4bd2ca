import CLinux
import Glibc
import Synchronization

/// A thread of our own, for work that must not run on Swift's shared pool.
package final class Thread: Sendable {
  // pthread_t is a plain number on Linux; nil once the thread has been joined.
  private let handle: Mutex<pthread_t?>

  private init(_ handle: pthread_t) {
    self.handle = Mutex(handle)
  }

  /// Starts a thread.
  ///
  /// - Parameters:
  ///   - name: Shown by `top -H` and debuggers; the kernel keeps the first 15 bytes.
  ///   - body: What the thread runs; the thread ends when it returns.
  /// - Throws: `EAGAIN` if the system has no room for another thread.
  package static func spawn(
    name: String, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) -> Thread {
    var handle = pthread_t()
    let start = Unmanaged.passRetained(ThreadBody(body))
    let code = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw SystemError(code: code, operation: "pthread_create", subject: name)
    }
    let shortName = String(decoding: name.utf8.prefix(15), as: UTF8.self)
    _ = waystation_name_thread(handle, shortName)
    return Thread(handle)
  }

  /// Waits until the thread's body has returned; a second call returns at once.
  package func join() {
    let handle = handle.withLock { handle in
      defer { handle = nil }
      return handle
    }
    guard let handle else { return }
    pthread_join(handle, nil)
  }

  deinit {
    // A thread that nobody joined frees its own stack when it ends.
    if let handle = handle.withLock({ $0 }) { pthread_detach(handle) }
  }
}

/// Carries a closure through the one pointer of `pthread_create`.
private final class ThreadBody {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}
