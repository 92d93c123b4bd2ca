import EventLoop
import Glibc

/// A place that could not be listened on.
package struct ListenFailure: Error, Sendable, CustomStringConvertible {
  /// What was asked for.
  package let endpoint: Endpoint
  /// Why the system would not have it.
  package let error: SystemError

  /// A failure of `bind` or `listen`.
  package init(endpoint: Endpoint, error: SystemError) {
    self.endpoint = endpoint
    self.error = error
  }

  /// The place, the reason, and what to do about it.
  package var description: String {
    switch endpoint {
    case .tcp: "cannot listen on \(endpoint): \(advice)"
    case .unix: "cannot listen on \(endpoint): \(adviceOnPath)"
    }
  }

  private var adviceOnPath: String {
    switch error.code {
    case EADDRINUSE: "somebody answers there; stop it, or give another path"
    case EEXIST: "there is a file that is no socket; remove it, or give another path"
    case ENOENT: "the folder does not exist; make it, or give another path"
    case EWOULDBLOCK:
      "another process keeps a lock on the folder (lslocks names it); stop it, or give another path"
    case EACCES, EPERM: "this user may not do so; let it write the folder, or give another path"
    default: error.reason
    }
  }

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
