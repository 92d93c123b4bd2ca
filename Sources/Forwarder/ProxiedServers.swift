import RelayCore

/// The servers to which anything has gone, or may go, through a proxy.
///
/// Where a server may speak HTTP/2, libcurl has a request wait for what the first connection to the
/// server turns out to speak (CURLOPT_PIPEWAIT(3)). It tells connections apart by the server alone,
/// so that a request would wait for another upstream's connection, or for a token server's, through
/// a proxy that hangs. At these servers none waits: requests that begin together have connections
/// of their own at first, and share one later.
///
/// A server stays among them when the configuration changes, since a connection of what was
/// configured before may still be under way.
struct ProxiedServers {
  private struct Server: Hashable {
    let host: String
    let port: UInt16

    init(_ url: UpstreamURL) {
      host = url.host.lowercased()
      port = url.port ?? (url.scheme == .https ? 443 : 80)
    }
  }

  private var servers: Set<Server> = []

  /// Begins with what is configured.
  init(_ targets: [UpstreamTarget]) { add(targets) }

  /// Adds what is configured now.
  mutating func add(_ targets: [UpstreamTarget]) {
    for target in targets {
      for target in [target, target.tokens?.endpoint].compactMap({ $0 }) where target.proxy != nil {
        servers.insert(Server(target.url))
      }
    }
  }

  /// Whether anything goes to this one's server through a proxy.
  func contains(_ target: UpstreamTarget) -> Bool {
    !servers.isEmpty && servers.contains(Server(target.url))
  }
}
