import EventLoop
import HTTPServer
import RelayCore

/// A kind of thing that callers share; each kind has places of its own.
package enum SharedKind: Sendable {
  case eventStreams, waits, runs, operations, listings, trials

  /// The number of them that there may be, as the start of a sentence.
  fileprivate func words(_ max: Int) -> String {
    let (noun, rest) =
      switch self {
      case .eventStreams: ("event stream", "may be open")
      case .waits: ("request", "may wait for an outcome")
      case .runs: ("run", "may be under way")
      case .operations: ("operation", "may run")
      case .listings: ("listing", "may be made")
      case .trials: ("trial", "of an upstream may be under way")
      }
    return "\(max) \(noun)\(max == 1 ? "" : "s") \(rest)"
  }
}

/// Limits of what is shared that are no setting.
package enum SharedLimits {
  /// The most listings that are made at a time: each takes a reader of the store for a while.
  package static let listingsMax = 128
  /// The most trials of upstreams at a time: each has a thread of its own, for 15 seconds at most.
  package static let trialsMax = 4
}

extension Problem {
  /// A share of what all callers have together is used up.
  package static func shareUsedUp(
    _ kind: SharedKind, _ refusal: SharedPlaces.Refusal
  ) -> Problem {
    let isOne = refusal.max == 1
    let them = isOne ? "it" : "them"
    let whose =
      switch refusal.share {
      case .client: " for one client, and this one has \(them)"
      case .source: " from one address, and this one has \(them)"
      case .operator: " for one operator, and this one has \(them)"
      case .all: " at once, and \(isOne ? "it is" : "they are")"
      }
    return Problem(
      .overloaded, "\(kind.words(refusal.max))\(whose).",
      fix: "Try again after Retry-After, or let one go. What was accepted is safe."
    ).retry(afterSeconds: RetryHint.overloadSeconds)
  }
}

extension EndpointContext {
  /// Returns the holder under whom the caller takes a shared place.
  ///
  /// - Parameter isForOperators: Whether what is asked for is for who looks after the relay: where
  ///   no credential tells them from devices, that is all there is to tell them by.
  func placeHolder(isForOperators: Bool = false) -> PlaceHolder {
    let source = origin.peer.placeSource
    switch caller.kind {
    case .operator: return .operator(caller.publicName ?? "")
    case .device(let name): return .client(name, at: source)
    case .anonymous, .stranger:
      let isForOperators =
        isForOperators || relay.listeners[origin.listener].audience == .operators
      return isForOperators ? .operators(at: source) : .nobody(at: source)
    }
  }

  /// Returns the limits for a total of places: how many of them one holder may have.
  func placeLimits(of total: Int) -> PlaceLimits { limits.shares.limits(of: total) }

  /// Takes a place of a kind.
  func takePlace(
    of kind: SharedKind, from keeper: PlaceKeeper, total: Int, isForOperators: Bool = false
  ) throws(Problem) -> TakenPlace {
    do throws(SharedPlaces.Refusal) {
      return try keeper.take(
        placeHolder(isForOperators: isForOperators), placeLimits(of: total))
    } catch {
      throw .shareUsedUp(kind, error)
    }
  }

  /// Takes a place among those who wait for outcomes: there may be as many as connections.
  func takeWait() throws(Problem) -> TakenPlace {
    try takePlace(of: .waits, from: relay.waits, total: limits.connectionsMax)
  }

  /// Takes a place among those for whom the store is searched; nil where a route needs none.
  func takeListing(for route: Route) throws(Problem) -> TakenPlace? {
    guard route.isListing else { return nil }
    return try takePlace(
      of: .listings, from: relay.listings, total: SharedLimits.listingsMax,
      isForOperators: route.audience == .operators)
  }
}
