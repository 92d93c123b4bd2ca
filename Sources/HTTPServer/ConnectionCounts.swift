import EventLoop
import RelayCore

/// How many connections there are, and whether one more may come.
struct ConnectionCounts {
  /// Why a connection is not taken.
  enum Refusal: Error {
    case tooMany, tooManyOfPeer, draining
  }

  /// What a connection takes up, to be given back at its end.
  struct Place {
    fileprivate let place: SharedPlaces.Place
    fileprivate let isReserved: Bool
  }

  private var common = SharedPlaces()
  private var reserved = SharedPlaces()

  /// Takes a place for a connection.
  ///
  /// - Parameter isReserved: Whether it came in where there is room that others cannot take.
  mutating func admit(
    _ peer: PeerAddress, isReserved: Bool, limits: HTTPLimits
  ) throws(Refusal) -> Place {
    // Who it is is known once it has asked for something: until then there is an address alone.
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
  /// The places of something, of which who takes one is known by its address alone.
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
  /// What the peer is told.
  func words(_ limits: HTTPLimits) -> String {
    switch self {
    case .tooMany: "The server has as many connections open as it may."
    case .tooManyOfPeer:
      "Your address has \(limits.ofPeerMax) connections open: as many as it may."
    case .draining: "The server is shutting down."
    }
  }
}
