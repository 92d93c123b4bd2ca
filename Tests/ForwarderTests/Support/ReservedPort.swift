import EventLoop
import Glibc

/// A port on which nobody listens, and which nobody else is given until this process ends.
///
/// A socket stays bound to it: the kernel gives it to nobody who asks for any port, and lets a
/// server that says `SO_REUSEADDR` listen there all the same (socket(7)).
func reservedPort() throws -> UInt16 {
  let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  var isOn: Int32 = 1
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
  guard let port = RawUpstream.bind(socket) else {
    throw SystemError(code: errno, operation: "reserve a port for a test")
  }
  return port
}
