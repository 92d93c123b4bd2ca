import Glibc
import Synchronization

/// The listening sockets that the service manager hands over at the start (sd_listen_fds(3)).
///
/// They stay open in the service manager as well: a client that connects while the relay is
/// restarted waits, and is not refused.
package final class InheritedSockets: Sendable {
  private struct Entry {
    let name: String
    let number: Int32
  }

  /// The first inherited descriptor (`SD_LISTEN_FDS_START`).
  private static let firstNumber: Int32 = 3
  /// The most sockets; a greater number is not believed.
  private static let countMax: Int32 = 1024

  private let entries: Mutex<[Entry]>

  /// No sockets.
  package init() { entries = Mutex([]) }

  /// Takes the sockets named in variables: `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.
  ///
  /// - Parameter process: The process that they have to be meant for.
  package init(environment: [String: String], process: Int32 = getpid()) {
    guard let meant = environment["LISTEN_PID"].flatMap({ Int32($0) }), meant == process,
      let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }),
      (1...Self.countMax).contains(count)
    else {
      entries = Mutex([])
      return
    }
    let names = (environment["LISTEN_FDNAMES"] ?? "")
      .split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    entries = Mutex(
      (0..<count).map { index in
        let number = Self.firstNumber + index
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        let name = Int(index) < names.count ? names[Int(index)] : ""
        return Entry(name: name.isEmpty ? "unknown" : name, number: number)
      })
  }

  /// The names of the sockets that nobody has taken.
  package var names: [String] { entries.withLock { $0.map(\.name) } }

  /// Takes a socket, for good.
  ///
  /// - Throws: `ENOENT` if there is none of that name, `ENOTUNIQ` if there are several, and
  ///   `EINVAL` if it does not listen for connections.
  func take(_ name: String) throws(SystemError) -> FileDescriptor {
    let subject = Endpoint.inherited(name: name).description
    let (found, count) = entries.withLock { entries -> (Entry?, Int) in
      let matches = entries.filter { $0.name == name }
      if matches.count == 1 { entries.removeAll { $0.name == name } }
      return (matches.first, matches.count)
    }
    guard let found, count == 1 else {
      throw SystemError(
        code: count == 0 ? ENOENT : ENOTUNIQ, operation: "take over", subject: subject)
    }
    let descriptor = FileDescriptor(adopting: found.number)
    let kind = Self.option(SO_TYPE, of: found.number)
    guard kind == Int32(SOCK_STREAM.rawValue), Self.option(SO_ACCEPTCONN, of: found.number) == 1
    else { throw SystemError(code: EINVAL, operation: "take over", subject: subject) }
    let flags = fcntl(found.number, F_GETFL)
    _ = fcntl(found.number, F_SETFL, flags | O_NONBLOCK)
    return descriptor
  }

  /// Finds out whether there is one socket of a name, and takes none.
  ///
  /// - Throws: As ``take(_:)`` does, but for `EINVAL`.
  func check(_ name: String) throws(SystemError) {
    let count = names.count { $0 == name }
    guard count != 1 else { return }
    throw SystemError(
      code: count == 0 ? ENOENT : ENOTUNIQ, operation: "take over",
      subject: Endpoint.inherited(name: name).description)
  }

  private static func option(_ option: Int32, of number: Int32) -> Int32? {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(number, SOL_SOCKET, option, &value, &length) == 0 ? value : nil
  }
}

extension Endpoint {
  /// The endpoint of a socket that somebody else has bound.
  ///
  /// A path in the abstract namespace is shown with an `@` (unix(7)).
  init(boundBy number: Int32, subject: String) throws(SystemError) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    _ = try systemCall("getsockname", on: subject) {
      withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(number, $0, &length)
        }
      }
    }
    if Int32(storage.ss_family) == AF_UNIX {
      let bytes = withUnsafeBytes(of: &storage) { Array($0[2..<max(2, Int(length))]) }
      let isAbstract = bytes.first == 0
      let path = (isAbstract ? bytes.dropFirst() : bytes[...]).prefix { $0 != 0 }
      self = .unix(path: (isAbstract ? "@" : "") + String(decoding: path, as: UTF8.self))
    } else {
      guard let address = SocketAddress(storage) else {
        throw SystemError(code: EAFNOSUPPORT, operation: "take over", subject: subject)
      }
      self = .tcp(address)
    }
  }
}
