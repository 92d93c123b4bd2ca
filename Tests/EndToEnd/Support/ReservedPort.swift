import Glibc
import Synchronization

/// A port that nobody else is given while this value lives, so that a relay finds it free at each
/// of its starts.
///
/// The kernel gives a port to nobody who asks for any one while a socket is bound to it. A socket
/// that says `SO_REUSEADDR`, as a server's does, may be bound to it all the same as long as no
/// other one listens there (socket(7)).
final class ReservedPort: Sendable {
  /// Its number.
  let number: UInt16
  private let descriptor: Int32

  /// Takes a free port of the loopback interface.
  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SocketError(operation: "socket", code: errno) }
    var isOn: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    number = UInt16(bigEndian: address.sin_port)
    guard isBound else { throw SocketError(operation: "bind", code: errno) }
  }

  deinit { close(descriptor) }

  /// The number of a port that nobody else is given until this process ends.
  ///
  /// It is for a server of another program, and for an address at which nobody is: another test's
  /// upstream, which runs beside, would otherwise be given a port that was just free.
  static func kept() throws -> UInt16 {
    let port = try ReservedPort()
    keeps.withLock { $0.append(port) }
    return port.number
  }

  private static let keeps = Mutex<[ReservedPort]>([])
}
