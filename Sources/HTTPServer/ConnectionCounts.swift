import EventLoop

/// How many connections there are, and whether one more may come.
struct ConnectionCounts {
  /// Why a connection is not taken.
  enum Refusal: Error {
    case tooMany, tooManyOfPeer, draining
  }

  /// What a connection takes up, to be given back at its end.
  struct Place {
    fileprivate let peer: SocketAddress.Host?
    fileprivate let isReserved: Bool
  }

  private var count = 0
  private var reservedCount = 0
  /// Where that is limited; bounded by the connections.
  private var peers: [SocketAddress.Host: Int] = [:]

  /// Takes a place for a connection.
  ///
  /// - Parameter isReserved: Whether it came in where there is room that others cannot take.
  mutating func admit(
    _ peer: PeerAddress, isReserved: Bool, limits: HTTPLimits
  ) throws(Refusal) -> Place {
    if isReserved {
      guard reservedCount < limits.reservedConnectionsMax else { throw .tooMany }
      reservedCount += 1
      return Place(peer: nil, isReserved: true)
    }
    guard count < limits.connectionsMax else { throw .tooMany }
    var host: SocketAddress.Host?
    if let ofPeerMax = limits.connectionsPerPeerMax, case .tcp(let address) = peer {
      let network = address.host.network
      guard peers[network, default: 0] < ofPeerMax else { throw .tooManyOfPeer }
      peers[network, default: 0] += 1
      host = network
    }
    count += 1
    return Place(peer: host, isReserved: false)
  }

  /// Gives a place back.
  mutating func release(_ place: Place) {
    guard !place.isReserved else {
      reservedCount -= 1
      return
    }
    count -= 1
    guard let peer = place.peer, let ofPeer = peers[peer] else { return }
    peers[peer] = ofPeer > 1 ? ofPeer - 1 : nil
  }
}

extension ConnectionCounts.Refusal {
  /// What the peer is told.
  func words(_ limits: HTTPLimits) -> String {
    switch self {
    case .tooMany: "The server has as many connections open as it may."
    case .tooManyOfPeer:
      "Your address has \(limits.connectionsPerPeerMax ?? 0) connections open: as many as it may."
    case .draining: "The server is shutting down."
    }
  }
}

extension SocketAddress.Host {
  /// Whom an address stands for: itself, or its IPv6 network, of which one peer has all addresses.
  fileprivate var network: Self {
    if case .ipv6(let high, _) = self { .ipv6(high, 0) } else { self }
  }
}
