import EventLoop
import HTTPServer
import RelayCore

/// A host by which the relay is known, as the configuration says it.
package struct KnownHost: Equatable, Sendable, CustomStringConvertible {
  /// The rule on hosts, as a part of a sentence.
  static let rule =
    "an array of hosts, as in [\"relay.example.com\", \"relay:8080\", \"*.fleet.example\"],"

  private enum Name: Equatable, Sendable {
    /// One host, in small letters.
    case exactly([UInt8])
    /// Every host whose name ends so: a dot, and what follows it.
    case below([UInt8])
    /// Every host there is.
    case any
  }

  private let name: Name
  /// nil for every port.
  private let port: UInt16?
  /// As it was written.
  package let description: String

  /// Reads a name or an address, with a port or without, `*.` and a name, or `*`; nil for anything
  /// else.
  package init?(_ text: String) {
    guard let authority = Authority(Array(text.lowercased().utf8)[...]), text.last != ":" else {
      return nil
    }
    var host = authority.host
    if text == "*" {
      name = .any
      host = []
    } else if host.starts(with: "*.".utf8) {
      host = host.dropFirst()
      name = .below(Array(host))
    } else {
      name = .exactly(Array(host))
    }
    guard name == .any || host.count > 1 || host.first != 0x2E && !host.isEmpty,
      host.allSatisfy(Self.isHostByte)
    else { return nil }
    port = authority.port
    description = text
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x5F, 0x3A, 0x5B, 0x5D: true
    default: false
    }
  }

  /// Whether a request may name this host.
  func covers(_ authority: Authority) -> Bool {
    if let port, port != authority.port { return false }
    switch name {
    case .exactly(let host): return authority.isNamed(host)
    case .below(let end): return authority.host.count > end.count && authority.ends(with: end)
    case .any: return true
    }
  }

  /// Whether a page of this origin is the relay's own: only of a host that is named in full, and
  /// where no port is named, of the scheme's own port.
  func isOrigin(_ authority: Authority) -> Bool {
    guard case .exactly(let host) = name else { return false }
    return authority.isNamed(host) && port == authority.port
  }
}

/// A host and a port, as a `Host` or an `Origin` field has them: a look at its bytes, which makes
/// nothing.
struct Authority {
  /// Without the final dot of a name; an IPv6 address in its brackets.
  let host: ArraySlice<UInt8>
  /// nil where none is said.
  let port: UInt16?

  /// Takes one apart; nil where the port is none.
  init?(_ text: ArraySlice<UInt8>) {
    var end = text.endIndex
    var port: UInt16?
    // A colon within brackets is a part of the address.
    if let colon = text.lastIndex(of: 0x3A), !text[colon...].contains(0x5D) {
      for byte in text[(colon + 1)...] {
        let (tens, tooLarge) = (port ?? 0).multipliedReportingOverflow(by: 10)
        guard (0x30...0x39).contains(byte), !tooLarge else { return nil }
        let (number, stillTooLarge) = tens.addingReportingOverflow(UInt16(byte - 0x30))
        guard !stillTooLarge else { return nil }
        port = number
      }
      end = colon
    }
    self.port = port
    let host = text[..<end]
    self.host = host.last == 0x2E ? host.dropLast() : host
  }

  /// Whether both name the same, letters compared without regard to case.
  func isSame(as other: Authority) -> Bool { port == other.port && isNamed(other.host) }

  /// Whether it has a name, letters compared without regard to case.
  func isNamed(_ name: some Collection<UInt8>) -> Bool {
    host.count == name.count && ends(with: name)
  }

  /// Whether its name ends so, letters compared without regard to case.
  func ends(with end: some Collection<UInt8>) -> Bool {
    host.count >= end.count
      && zip(host.suffix(end.count), end).allSatisfy(FieldSyntax.isSameLetter)
  }

  /// Whether it is a name that is this machine in any case (RFC 6761 section 6.3).
  var isLocalName: Bool { isNamed("localhost".utf8) || ends(with: ".localhost".utf8) }

  /// The address that it is; nil for a name.
  var address: SocketAddress.Host? {
    guard host.first != 0x5B else {
      return SocketAddress(String(decoding: host, as: UTF8.self) + ":0")?.host
    }
    return ipv4.map(SocketAddress.Host.ipv4)
  }

  /// Four numbers with dots in between, as browsers write them.
  private var ipv4: UInt32? {
    var address: UInt32 = 0
    var part: UInt32 = 0
    var (digits, dots) = (0, 0)
    for byte in host {
      if byte == 0x2E {
        guard digits > 0, dots < 3 else { return nil }
        (address, part, digits) = (address << 8 | part, 0, 0)
        dots += 1
      } else {
        guard (0x30...0x39).contains(byte), digits < 3 else { return nil }
        part = part * 10 + UInt32(byte - 0x30)
        guard part < 256 else { return nil }
        digits += 1
      }
    }
    return dots == 3 && digits > 0 ? address << 8 | part : nil
  }
}
