import EventLoop
import RelayCore

/// Counts connections, and decides whether one more may come.
struct ConnectionCounts {
  /// The reason that a connection is not accepted.
  enum Refusal: Error {
    case tooMany, tooManyOfPeer, draining
  }

  /// The place that a connection takes, to be given back at its end.
  struct Place {
    fileprivate let place: SharedPlaces.Place
    fileprivate let isReserved: Bool
  }

  private var common = SharedPlaces()
  private var reserved = SharedPlaces()

  /// Takes a place for a connection.
  ///
  /// - Parameter isReserved: Whether its listener has room that others cannot take.
  mutating func admit(
    _ peer: PeerAddress, isReserved: Bool, limits: HTTPLimits
  ) throws(Refusal) -> Place {
    // Who the peer is becomes known with its first request: until then there is only an address.
    let holder = PlaceHolder.nobody(at: peer.placeSource)
    var places = limits.places(of: limits.connectionsMax)
    places.perSource = limits.ofPeerMax
    do throws(SharedPlaces.Refusal) {
      let place =
        isReserved
        ? try reserved.take(.nobody(at: nil), limits.places(of: limits.reservedConnectionsMax))
        : try common.take(holder, places)
      return Place(place: place, isReserved: isReserved)
    } catch {
      throw error.share == .source ? .tooManyOfPeer : .tooMany
    }
  }

  /// Gives a place back.
  mutating func release(_ place: Place) {
    if place.isReserved { reserved.giveBack(place.place) } else { common.giveBack(place.place) }
  }
}

extension HTTPLimits {
  /// The shares of something whose holders are known only by their addresses.
  func places(of total: Int) -> PlaceLimits {
    var shares = PlaceShares()
    shares.sourcePercent = peerSharePercent
    shares.reservePercent = 0
    return shares.limits(of: total)
  }

  /// The most connections of one peer.
  fileprivate var ofPeerMax: Int {
    connectionsPerPeerMax ?? places(of: connectionsMax).perSource
  }
}

extension ConnectionCounts.Refusal {
  /// The sentence for the peer.
  func words(_ limits: HTTPLimits) -> String {
    switch self {
    case .tooMany: "The server has as many connections open as it may."
    case .tooManyOfPeer:
      "Your address has \(limits.ofPeerMax) connections open: as many as it may."
    case .draining: "The server is shutting down."
    }
  }
}
