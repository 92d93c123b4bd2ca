import EventLoop
import RelayCore

/// The room that a listener's connections have.
package enum ConnectionRoom: Sendable {
  /// One with all others, in which no peer takes more than its share.
  case common
  /// One of its own, however many others there are; see ``HTTPLimits/reservedConnectionsMax``.
  case reserved
  /// One with all others, where a peer may take all of it: it brings others' requests.
  case trusted
}

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
  mutating func admit(
    _ peer: PeerAddress, in room: ConnectionRoom, limits: HTTPLimits
  ) throws(Refusal) -> Place {
    // Who the peer is becomes known with its first request: until then there is only an address.
    let holder = PlaceHolder.nobody(at: room == .common ? peer.placeSource : nil)
    var places = limits.places(of: limits.connectionsMax)
    places.perSource = limits.ofPeerMax
    do throws(SharedPlaces.Refusal) {
      let place =
        room == .reserved
        ? try reserved.take(holder, limits.places(of: limits.reservedConnectionsMax))
        : try common.take(holder, places)
      return Place(place: place, isReserved: room == .reserved)
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
