import EventLoop
import Glibc
import HTTPServer

/// A place that could not be listened on.
package struct ListenFailure: Error, Sendable, CustomStringConvertible {
  /// The address that was asked for.
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
    case .inherited: "cannot listen on \(endpoint): \(adviceOnInherited)"
    }
  }

  private var adviceOnInherited: String {
    switch error.code {
    case ENOENT:
      "the service manager has handed over no socket of that name; start the relay by its socket"
        + " unit, and say FileDescriptorName= there"
    case ENOTUNIQ:
      "there are several sockets of that name; give each a socket unit, and a FileDescriptorName="
    case EINVAL: "that socket takes no connections; its unit needs ListenStream= and Accept=no"
    default: error.reason
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

extension Log {
  /// Tells of a TLS handshake that failed: now and then, however many fail.
  ///
  /// Without it nobody could see why a device's certificate is refused; without the limit whoever
  /// tries ports could fill the log.
  func tell(_ failure: FailedHandshake) {
    repeating(
      .info, "TLS handshake failed", about: "", .steady,
      ("listener", .integer(Int64(failure.listener))), ("peer", .text(failure.peer)),
      ("reason", .text(failure.reason)))
  }
}
