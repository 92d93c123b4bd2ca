import CLinux
import Glibc
import RelayCore

/// The file of a listening Unix socket: made with the right mode, and removed by its maker.
struct UnixSocketFile: Sendable {
  private let path: String
  /// The identity of this file, which tells it from another in its place.
  private let device: dev_t
  private let inode: ino_t

  /// Binds a socket to a path and begins to listen.
  ///
  /// A file that a killed process has left behind is replaced; one on which somebody answers is
  /// not. The folder is locked meanwhile (flock(2), let go at the end), so that of two processes
  /// that start at once neither takes the other's socket for an abandoned one.
  ///
  /// - Throws: `EADDRINUSE` if somebody answers; `EEXIST` if the path is something other than a
  ///   socket; `EWOULDBLOCK` if another process keeps its lock on the folder.
  init(
    binding number: Int32, to path: String, mode: UInt32, backlog: Int32
  ) throws(SystemError) {
    let subject = Endpoint.unix(path: path).description
    let folder = try Self.lockedFolder(of: path, subject)
    defer { _ = folder.number }
    try Self.removeAbandoned(path, subject)
    try Self.bind(number, to: path, mode: mode, subject)
    _ = try systemCall("chmod", on: subject) { Glibc.chmod(path, mode_t(mode)) }
    _ = try systemCall("listen", on: subject) { Glibc.listen(number, backlog) }
    var status = stat()
    _ = try systemCall("lstat", on: subject) { lstat(path, &status) }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  /// Finds out whether a socket could be made at a path, and makes none.
  ///
  /// - Throws: `ENOENT` or `EACCES` for its folder; `EEXIST` if the path is something other than a
  ///   socket.
  static func checkPlace(_ path: String) throws(SystemError) {
    let subject = Endpoint.unix(path: path).description
    var status = stat()
    if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
      throw SystemError(code: EEXIST, operation: "bind", subject: subject)
    }
    let folder = folder(of: path)
    _ = try systemCall("access", on: subject) { access(folder, W_OK | X_OK) }
  }

  private static func folder(of path: String) -> String {
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
    return end == path.startIndex ? "/" : String(path[..<end])
  }

  /// Removes the file, unless another one is in its place.
  func remove() {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else { return }
    _ = Glibc.unlink(path)
  }

  /// Makes the file, never with a permission beyond the mode.
  ///
  /// Linux takes the socket's permissions less the process's mask, which may remove too many.
  static func bind(
    _ number: Int32, to path: String, mode: UInt32, _ subject: String
  ) throws(SystemError) {
    _ = try systemCall("fchmod", on: subject) { fchmod(number, mode_t(mode)) }
    _ = try systemCall("bind", on: subject) {
      path.withCString { waystation_bind_unix(number, $0, path.utf8.count) }
    }
  }

  /// The longest wait for another process's lock: a starting relay holds it for a moment.
  private static let lockWaitMs: Int64 = 2000
  private static let lockPauseMs: UInt32 = 20

  private static func lockedFolder(
    of path: String, _ subject: String
  ) throws(SystemError) -> FileDescriptor {
    let folder = folder(of: path)
    let descriptor = FileDescriptor(
      adopting: try systemCall("open", on: subject) {
        Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      })
    let number = descriptor.number
    let deadline = MonotonicClock.now().adding(milliseconds: lockWaitMs)
    while true {
      do throws(SystemError) {
        _ = try systemCall("flock", on: subject) { flock(number, LOCK_EX | LOCK_NB) }
        return descriptor
      } catch {
        guard error.code == EWOULDBLOCK, MonotonicClock.now() < deadline else { throw error }
        usleep(lockPauseMs * 1000)
      }
    }
  }

  private static func removeAbandoned(_ path: String, _ subject: String) throws(SystemError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw SystemError(code: EEXIST, operation: "bind", subject: subject)
    }
    let probe = FileDescriptor(
      adopting: try systemCall("socket", on: subject) { waystation_socket(AF_UNIX) })
    let number = probe.number
    let result = path.withCString { waystation_connect_unix(number, $0, path.utf8.count) }
    // Only a refusal shows that nobody has it open. Any other error, such as a full backlog
    // (EAGAIN) or a lack of permission, may come from a live process's socket.
    guard result != 0, errno == ECONNREFUSED else {
      throw SystemError(code: EADDRINUSE, operation: "bind", subject: subject)
    }
    _ = try systemCall("unlink", on: subject) { Glibc.unlink(path) }
  }
}
