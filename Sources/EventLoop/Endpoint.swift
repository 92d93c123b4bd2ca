import Glibc

/// Where something listens: an address and port, or a Unix socket's path.
package enum Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// A TCP address and port.
  case tcp(SocketAddress)
  /// A socket in the file system, reached from this machine only (unix(7)).
  case unix(path: String)

  /// The longest path of a Unix socket, in bytes: `sun_path` has 108, one of them the final NUL.
  package static let unixPathBytesMax = 107

  /// Reads `127.0.0.1:8080`, `[::1]:80`, `:8080` or `unix:/run/waystation.sock`; nil for anything
  /// else, and for a path that is empty, relative or longer than ``unixPathBytesMax``.
  package init?(_ text: String) {
    if text.hasPrefix(Self.unixPrefix) {
      self.init(unixPath: String(text.dropFirst(Self.unixPrefix.count)))
    } else {
      guard let address = SocketAddress(text) else { return nil }
      self = .tcp(address)
    }
  }

  /// A Unix socket; nil for a path that is relative, too long, or holds a NUL.
  package init?(unixPath path: String) {
    guard path.hasPrefix("/"), path.count > 1, path.utf8.count <= Self.unixPathBytesMax,
      !path.utf8.contains(0)
    else { return nil }
    self = .unix(path: path)
  }

  private static let unixPrefix = "unix:"

  /// The form that `init(_:)` reads.
  package var description: String {
    switch self {
    case .tcp(let address): address.description
    case .unix(let path): Self.unixPrefix + path
    }
  }

  /// Whether the system is to choose the port, so that several may say the same.
  package var takesAnyPort: Bool {
    if case .tcp(let address) = self { return address.port == 0 }
    return false
  }

  /// Whether only this machine can reach it.
  package var isLocal: Bool {
    switch self {
    case .tcp(let address): address.isLoopback
    case .unix: true
    }
  }
}

/// The other end of a connection.
package enum PeerAddress: Sendable, Hashable, CustomStringConvertible {
  /// A TCP address and port.
  case tcp(SocketAddress)
  /// A process of this machine, which came through a Unix socket.
  case unix

  /// The address and port, or `unix`.
  package var description: String {
    switch self {
    case .tcp(let address): address.description
    case .unix: "unix"
    }
  }
}

extension SocketAddress {
  /// Whether it is 127.0.0.0/8 or `::1` (RFC 1122 section 3.2.1.3, RFC 4291 section 2.5.3).
  package var isLoopback: Bool {
    switch host {
    case .ipv4(let number): number >> 24 == 127
    case .ipv6(let high, let low): high == 0 && low == 1
    }
  }
}

extension PeerAddress {
  /// The peer as the kernel named it; nil for a family that is none of ours.
  init?(_ storage: sockaddr_storage) {
    if Int32(storage.ss_family) == AF_UNIX {
      self = .unix
    } else {
      guard let address = SocketAddress(storage) else { return nil }
      self = .tcp(address)
    }
  }
}
