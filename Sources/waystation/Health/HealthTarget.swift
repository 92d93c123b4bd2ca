import EventLoop
import RelayCore

/// Which relay is asked for its health.
enum HealthTarget {
  /// The relay's URL: from the option, else a variable, else the default.
  static func url(
    flag: String?, environment: [String: String]
  ) throws(HealthFailure) -> UpstreamURL {
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
    guard let address = SocketAddress(first), address.port != 0 else {
      throw HealthFailure(
        reason: "WAYSTATION_LISTEN does not say which port the relay has; give --server URL")
    }
    return try parse("http://\(reachable(address))", from: "WAYSTATION_LISTEN")
  }

  /// An address that stands for every interface is reached through the loopback.
  static func reachable(_ address: SocketAddress) -> SocketAddress {
    switch address.host {
    case .ipv4(0): SocketAddress(host: .ipv4(0x7F00_0001), port: address.port)
    case .ipv6(0, 0): SocketAddress(host: .ipv6(0, 1), port: address.port)
    default: address
    }
  }

  private static func parse(
    _ text: String, from origin: String
  ) throws(HealthFailure) -> UpstreamURL {
    guard let url = try? UpstreamURL(text), url.scheme == .http else {
      throw HealthFailure(reason: "\(origin): expected a URL such as http://127.0.0.1:8080")
    }
    return url
  }
}
