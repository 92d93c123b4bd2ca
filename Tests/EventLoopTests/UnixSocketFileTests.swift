import CLinux
@testable import EventLoop
import Foundation
import Glibc
import Synchronization
import Testing

@Suite("The file of a Unix socket", .timeLimit(.minutes(5)))
struct UnixSocketFileTests {
  /// A folder of the test's own.
  private final class Folder {
    let path = NSTemporaryDirectory() + "waystation-socket-\(UUID().uuidString.prefix(8))"

    init() throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Locks the folder, as another relay does while it starts.
    func lock() -> Int32 {
      let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      #expect(flock(number, LOCK_EX | LOCK_NB) == 0)
      return number
    }
  }

  private func mode(of path: String) -> UInt32 {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test(
    "has no permission beyond its mode, from the moment that it is there",
    arguments: [
      0o600, 0o660, 0o606,
    ] as [UInt32])
  func mode(mode: UInt32) throws {
    let folder = try Folder()
    let path = folder.path + "/a.sock"
    let number = waystation_socket(AF_UNIX)
    defer { close(number) }
    try UnixSocketFile.bind(number, to: path, mode: mode, path)
    #expect(self.mode(of: path) & ~mode == 0)
    #expect(self.mode(of: path) & 0o600 == 0o600)
    unlink(path)
    let loop = try EventLoop(name: "test")
    let listener = try Listener(.unix(path: path), mode: mode, on: loop)
    #expect(self.mode(of: path) == mode)
    listener.close()
    loop.stop()
  }

  @Test("a lock on the folder that another process keeps is told, and not waited for without end")
  func lockKept() throws {
    let folder = try Folder()
    let lock = folder.lock()
    let loop = try EventLoop(name: "test")
    let error = #expect(throws: SystemError.self) {
      _ = try Listener(.unix(path: folder.path + "/a.sock"), on: loop)
    }
    #expect(error?.code == EWOULDBLOCK)
    close(lock)
    try Listener(.unix(path: folder.path + "/a.sock"), on: loop).close()
    loop.stop()
  }

  @Test("a lock that is let go again is waited for, and nothing is made meanwhile")
  func lockLetGo() throws {
    let folder = try Folder()
    let place = folder.path
    let path = place + "/a.sock"
    let lock = folder.lock()
    let loop = try EventLoop(name: "test")
    let waits = Waits()
    // By another thread, once it sees that this one has the folder open, and sleeps.
    let waiter = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
    Thread.detachNewThread {
      while !waits.isOver.load(ordering: .acquiring) {
        guard Self.descriptors(of: place) == 2, Self.sleeps(waiter) else {
          sched_yield()
          continue
        }
        waits.wasEmpty.store(access(path, F_OK) != 0, ordering: .relaxed)
        waits.wasSeen.store(true, ordering: .releasing)
        close(lock)
        return
      }
      close(lock)
    }
    let listener = try Listener(.unix(path: path), on: loop)
    let wasSeen = waits.wasSeen.load(ordering: .acquiring)
    #expect(wasSeen, "it did not wait for the lock")
    let wasEmpty = waits.wasEmpty.load(ordering: .relaxed)
    #expect(wasEmpty)
    #expect(access(path, F_OK) == 0)
    waits.isOver.store(true, ordering: .releasing)
    listener.close()
    loop.stop()
  }

  /// What one thread has seen of another that waits.
  private final class Waits: Sendable {
    let wasSeen = Atomic<Bool>(false)
    let wasEmpty = Atomic<Bool>(false)
    let isOver = Atomic<Bool>(false)
  }

  /// How many of this process's descriptors are open on a path.
  private static func descriptors(of path: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.count {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
    }
  }

  /// Whether a thread of this process sleeps (proc(5): the state stands behind the name).
  private static func sleeps(_ thread: String) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(thread)/stat", encoding: .utf8)
    return status?.split(separator: ")").last?.hasPrefix(" S") == true
  }
}
