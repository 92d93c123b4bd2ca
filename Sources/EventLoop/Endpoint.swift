import Glibc

/// A place to listen at: an address and port, a Unix socket's path, or a socket that the service
/// manager has made.
package enum Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// A TCP address and port.
  case tcp(SocketAddress)
  /// A socket in the file system, reached from this machine only (unix(7)).
  case unix(path: String)
  /// A socket that listens already, by the name under which it is handed over; see
  /// ``InheritedSockets``.
  case inherited(name: String)

  /// The longest name of an inherited socket, in bytes (systemd.socket(5), `FileDescriptorName=`).
  package static let inheritedNameBytesMax = 255
  /// The longest path of a Unix socket, in bytes: `sun_path` has 108, one of them the final NUL.
  package static let unixPathBytesMax = 107

  /// Parses `127.0.0.1:8080`, `[::1]:80`, `:8080`, `unix:/run/waystation.sock` or `systemd:web`;
  /// nil for any other text, and for a path that is empty, relative or longer than
  /// ``unixPathBytesMax``.
  package init?(_ text: String) {
    if text.hasPrefix(Self.unixPrefix) {
      self.init(unixPath: String(text.dropFirst(Self.unixPrefix.count)))
    } else if text.hasPrefix(Self.inheritedPrefix) {
      self.init(inheritedName: String(text.dropFirst(Self.inheritedPrefix.count)))
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

  /// An inherited socket; nil for a name that none can have, or that a list could not hold.
  package init?(inheritedName name: String) {
    guard (1...Self.inheritedNameBytesMax).contains(name.utf8.count),
      name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x3A && $0 != 0x2C })
    else { return nil }
    self = .inherited(name: name)
  }

  private static let unixPrefix = "unix:"
  private static let inheritedPrefix = "systemd:"

  /// The form that `init(_:)` parses.
  package var description: String {
    switch self {
    case .tcp(let address): address.description
    case .unix(let path): Self.unixPrefix + path
    case .inherited(let name): Self.inheritedPrefix + name
    }
  }

  /// Whether the system chooses the port, so that several endpoints may be equal.
  package var takesAnyPort: Bool {
    if case .tcp(let address) = self { return address.port == 0 }
    return false
  }

  /// Whether only this machine can reach it; false for an inherited socket, of which that is not
  /// known.
  package var isLocal: Bool {
    switch self {
    case .tcp(let address): address.isLoopback
    case .unix: true
    case .inherited: false
    }
  }
}

/// The other end of a connection.
package enum PeerAddress: Sendable, Hashable, CustomStringConvertible {
  /// A TCP address and port.
  case tcp(SocketAddress)
  /// A process on this machine, connected through a Unix socket.
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

extension SocketAddress {
  /// Whether it means every address of the machine: 0.0.0.0 or `::`.
  package var isUnspecified: Bool {
    switch host {
    case .ipv4(let number): number == 0
    case .ipv6(let high, let low): high == 0 && low == 0
    }
  }
}

extension PeerAddress {
  /// The peer as the kernel named it; nil for another address family.
  init?(_ storage: sockaddr_storage) {
    if Int32(storage.ss_family) == AF_UNIX {
      self = .unix
    } else {
      guard let address = SocketAddress(storage) else { return nil }
      self = .tcp(address)
    }
  }
}
