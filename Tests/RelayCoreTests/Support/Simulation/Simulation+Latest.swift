@testable import RelayCore
@testable import StoreModel

/// A lane, and one of the upstreams that its envelopes go to.
struct BackoffName: Hashable {
  var lane: LaneNumber
  var upstream: UpstreamNumber
}

// Lanes in which the newest goes first.
extension Simulation {
  /// Every fifth lane, those of a client that floods among them.
  static func order(ofLane name: Int) -> LaneOrder { name % 5 == 1 ? .latest : .strict }

  func order(of lane: LaneNumber) -> LaneOrder {
    guard let name = store.lanes[lane].flatMap({ Int($0.name.lane) }) else {
      preconditionFailure("lanes have numbers for names")
    }
    return Self.order(ofLane: name)
  }

  /// The lanes of some entries that are of this order.
  func latestLanes(of entries: some Sequence<LineEntry>) -> Set<LaneNumber> {
    Set(Set(entries.map(\.lane)).filter { order(of: $0) == .latest })
  }

  /// What a change that is being committed says of how long its lane has to wait.
  mutating func noteBackoff(by transition: Transition) {
    guard order(of: transition.lane) == .latest, store.place(of: transition.serial) != nil
    else { return }
    let name = BackoffName(lane: transition.lane, upstream: transition.upstream)
    switch transition.change {
    case .retry(let time) where transition.isAnswered:
      // Without an answer it waits as well, but no longer than until the upstream is back.
      backoffs[name] = (transition.serial, time)
    case .release, .edit: backoffs = backoffs.filter { $0.key.lane != transition.lane }
    case .begin: break
    case .retry, .block, .end, .requeue: backoffs[name] = nil
    }
  }

  /// A lane that an upstream has told to wait waits, whatever newer envelopes come.
  mutating func checkPatience(of entry: LineEntry) {
    let name = BackoffName(lane: entry.lane, upstream: entry.upstream)
    guard let backoff = backoffs[name], backoff.until > clock.wall, !wasClockSetBack else { return }
    violate("\(entry.serial) was attempted though \(backoff.serial) was told to wait")
  }
}
