import EventLoop
import RelayCore

/// The relay whose health is checked, and the way to reach it.
enum HealthTarget: Equatable, CustomStringConvertible {
  /// Over TCP, without TLS.
  case url(UpstreamURL)
  /// Through the Unix socket at this path.
  case unix(path: String)

  /// The form in which it is given on the command line.
  var description: String {
    switch self {
    case .url(let url): url.description
    case .unix(let path): Endpoint.unix(path: path).description
    }
  }

  /// Takes the option, else a variable, else the default.
  static func find(
    flag: String?, environment: [String: String]
  ) throws(HealthFailure) -> HealthTarget {
    func variable(_ name: String) -> String? {
      environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
    if let flag { return try parse(flag, from: "--server") }
    if let server = variable("WAYSTATION_SERVER") {
      return try parse(server, from: "WAYSTATION_SERVER")
    }
    guard let listen = variable("WAYSTATION_LISTEN") else {
      return try parse("http://127.0.0.1:8080", from: "")
    }
    let first = listen.split { $0 == "," || $0.isWhitespace }.first.map(String.init) ?? ""
    switch Endpoint(first) {
    case .unix(let path): return .unix(path: path)
    case .tcp(let address) where address.port != 0:
      return try parse("http://\(reachable(address))", from: "WAYSTATION_LISTEN")
    default:
      throw HealthFailure(
        reason: "WAYSTATION_LISTEN does not say which port the relay has; give --server URL")
    }
  }

  /// Replaces an address that stands for every interface by the loopback address.
  static func reachable(_ address: SocketAddress) -> SocketAddress {
    switch address.host {
    case .ipv4(0): SocketAddress(host: .ipv4(0x7F00_0001), port: address.port)
    case .ipv6(0, 0): SocketAddress(host: .ipv6(0, 1), port: address.port)
    default: address
    }
  }

  private static func parse(
    _ text: String, from origin: String
  ) throws(HealthFailure) -> HealthTarget {
    if case .unix(let path) = Endpoint(text) { return .unix(path: path) }
    guard let url = try? UpstreamURL(text) else {
      throw HealthFailure(
        reason: "\(origin): expected a URL such as http://127.0.0.1:8080, or a socket's path, as in"
          + " unix:/run/waystation.sock")
    }
    guard url.scheme == .http else {
      throw HealthFailure(
        reason: "\(origin): this command speaks no TLS; give the relay another listener, on the"
          + " loopback address or a Unix socket, and ask there")
    }
    return .url(url)
  }
}
