import RelayCore

/// The servers to which several upstreams go by different ways: directly, or through a proxy.
///
/// Where a server may speak HTTP/2, libcurl has a request wait for what the first connection to the
/// server turns out to speak (CURLOPT_PIPEWAIT(3)). It tells connections apart by the server alone,
/// so that a request would wait for another upstream's connection through a proxy that hangs. At
/// these servers none waits.
struct SharedDestinations {
  private struct Server: Hashable {
    let host: String
    let port: UInt16

    init(_ url: UpstreamURL) {
      host = url.host
      port = url.port ?? (url.scheme == .https ? 443 : 80)
    }
  }

  private let servers: Set<Server>

  /// Looks at all upstreams that are configured.
  init(_ targets: [UpstreamTarget]) {
    let ways = Dictionary(grouping: targets) { Server($0.url) }
      .mapValues { Set($0.map(\.proxy)) }
    servers = Set(ways.filter { $0.value.count > 1 }.keys)
  }

  /// Whether others go to this upstream's server by another way.
  func contains(_ target: UpstreamTarget) -> Bool {
    !servers.isEmpty && servers.contains(Server(target.url))
  }
}
