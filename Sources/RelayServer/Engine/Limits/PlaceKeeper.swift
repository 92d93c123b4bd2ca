import RelayCore
import Synchronization

/// Hands out places of one kind of thing that all callers share.
final class PlaceKeeper: Sendable {
  private let places = Mutex(SharedPlaces())

  /// Takes a place for as long as what is returned is kept.
  func take(
    _ holder: PlaceHolder, _ limits: PlaceLimits
  ) throws(SharedPlaces.Refusal) -> TakenPlace {
    let place = try places.withLock { (places) throws(SharedPlaces.Refusal) in
      try places.take(holder, limits)
    }
    return TakenPlace(place, of: self)
  }

  fileprivate func giveBack(_ place: SharedPlaces.Place) {
    places.withLock { $0.giveBack(place) }
  }
}

/// A place that is taken until it is let go.
final class TakenPlace: Sendable {
  private let place: SharedPlaces.Place
  private let keeper: PlaceKeeper

  fileprivate init(_ place: SharedPlaces.Place, of keeper: PlaceKeeper) {
    self.place = place
    self.keeper = keeper
  }

  deinit { keeper.giveBack(place) }
}
