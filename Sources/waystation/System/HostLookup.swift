import EventLoop
import Glibc

/// Looks up the addresses of hosts by name.
enum HostLookup {
  /// The TCP addresses of a host, in the order in which the system would try them; none if the
  /// lookup fails.
  ///
  /// Blocks while a name server is asked (getaddrinfo(3)).
  ///
  /// - Parameter host: A name, an IPv4 address, or an IPv6 address with or without brackets.
  static func addresses(of host: String, port: UInt16) -> [SocketAddress] {
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      if let address = numeric(entry, port: port) { addresses.append(address) }
      next = entry.ai_next
    }
    return addresses
  }

  private static func numeric(_ entry: addrinfo, port: UInt16) -> SocketAddress? {
    var buffer = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let code = getnameinfo(
      entry.ai_addr, entry.ai_addrlen, &buffer, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST)
    guard code == 0 else { return nil }
    let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
    let text = String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return SocketAddress(entry.ai_family == AF_INET6 ? "[\(text)]:\(port)" : "\(text):\(port)")
  }
}
