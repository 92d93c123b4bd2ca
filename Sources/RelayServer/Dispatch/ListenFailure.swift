import EventLoop
import Glibc

/// An address that could not be listened on.
package struct ListenFailure: Error, Sendable, CustomStringConvertible {
  /// The address that was asked for.
  package let address: SocketAddress
  /// Why the system would not have it.
  package let error: SystemError

  /// A failure of `bind` or `listen`.
  package init(address: SocketAddress, error: SystemError) {
    self.address = address
    self.error = error
  }

  /// The address, the reason, and what to do about it.
  package var description: String { "cannot listen on \(address): \(advice)" }

  private var advice: String {
    switch error.code {
    case EADDRINUSE:
      "the address is in use; stop what listens there or give --listen another port"
    case EADDRNOTAVAIL:
      "this machine does not have that address; give --listen one that it has, or 0.0.0.0 for all"
    case EACCES:
      "ports below 1024 need privileges; give --listen a higher port"
    case EAFNOSUPPORT:
      "this machine does not speak that version of IP; give --listen another address"
    default: error.reason
    }
  }
}
