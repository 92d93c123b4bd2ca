import CLinux
import Glibc

/// An IPv4 or IPv6 address and a TCP port.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  /// The address.
  package let host: Host
  /// The port; 0 asks the system to choose one when binding.
  package let port: UInt16

  /// An address without a port.
  package enum Host: Sendable, Hashable {
    /// An IPv4 address, as a number in the machine's order (127.0.0.1 is 0x7F000001).
    case ipv4(UInt32)
    /// An IPv6 address, as two numbers in the machine's order, the more significant first.
    case ipv6(UInt64, UInt64)
  }

  /// Puts an address together.
  package init(host: Host, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// 127.0.0.1 with a port.
  package static func loopback(port: UInt16) -> SocketAddress {
    SocketAddress(host: .ipv4(0x7F00_0001), port: port)
  }

  /// Parses `127.0.0.1:8080`, `[::1]:80` or `:8080` (every IPv4 interface); no names are resolved.
  ///
  /// Returns nil for any other text.
  package init?(_ text: String) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
    let hostText = text[..<colon]
    let portText = text[text.utf8.index(after: colon)...]
    guard (1...5).contains(portText.utf8.count),
      portText.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
      let port = UInt16(portText), let host = Self.host(hostText)
    else { return nil }
    self.init(host: host, port: port)
  }

  private static func host(_ text: Substring) -> Host? {
    if text.isEmpty { return .ipv4(0) }
    if text.first == "[", text.last == "]" {
      var address = in6_addr()
      guard inet_pton(AF_INET6, String(text.dropFirst().dropLast()), &address) == 1 else {
        return nil
      }
      return host(address)
    }
    var address = in_addr()
    guard inet_pton(AF_INET, String(text), &address) == 1 else { return nil }
    return .ipv4(UInt32(bigEndian: address.s_addr))
  }

  /// The form that `init(_:)` parses, such as `127.0.0.1:8080` or `[::1]:80`.
  package var description: String {
    switch host {
    case .ipv4: "\(hostDescription):\(port)"
    case .ipv6: "[\(hostDescription)]:\(port)"
    }
  }

  /// The address alone, such as `127.0.0.1` or `::1`.
  package var hostDescription: String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch host {
    case .ipv4(let number):
      var address = in_addr(s_addr: number.bigEndian)
      inet_ntop(AF_INET, &address, &buffer, socklen_t(buffer.count))
    case .ipv6(let high, let low):
      var address = in6_addr()
      withUnsafeMutableBytes(of: &address) { bytes in
        bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
        bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
      inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count))
    }
    let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
    return String(decoding: buffer[..<end].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func host(_ address: in6_addr) -> Host {
    withUnsafeBytes(of: address) { bytes in
      .ipv6(
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
  }
}

// MARK: - The kernel's form

extension SocketAddress {
  var family: Int32 {
    switch host {
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    }
  }

  /// The address as the kernel gave it; nil for a family that is neither IPv4 nor IPv6.
  init?(_ storage: sockaddr_storage) {
    switch Int32(storage.ss_family) {
    case AF_INET:
      let address = withUnsafeBytes(of: storage) { $0.loadUnaligned(as: sockaddr_in.self) }
      self.init(
        host: .ipv4(UInt32(bigEndian: address.sin_addr.s_addr)),
        port: UInt16(bigEndian: address.sin_port))
    case AF_INET6:
      let address = withUnsafeBytes(of: storage) { $0.loadUnaligned(as: sockaddr_in6.self) }
      self.init(host: Self.host(address.sin6_addr), port: UInt16(bigEndian: address.sin6_port))
    default:
      return nil
    }
  }

  /// Lends the address in the form that `bind` and `connect` take.
  func withKernelForm<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    switch host {
    case .ipv4(let number):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = number.bigEndian
      return Self.lend(&address, body)
    case .ipv6(let high, let low):
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
        bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
        bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
      }
      return Self.lend(&address, body)
    }
  }

  private static func lend<Address, Result>(
    _ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { rebound in
        body(rebound, socklen_t(MemoryLayout<Address>.size))
      }
    }
  }
}
