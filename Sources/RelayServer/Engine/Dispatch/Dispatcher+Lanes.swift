import RelayCore
import Synchronization

/// A lane's state for lists.
package struct LaneFacts: Sendable {
  /// The number of envelopes that wait in it.
  package var waiting = 0
  /// Its first envelope; nil if it is not known, or nothing waits.
  package var head: LineEntry?
  /// Whether it stands until someone resolves its head, or until the relay starts anew.
  package var isBlocked = false
  /// Whether somebody has paused this very lane.
  package var isPaused = false
}

/// A client's state for lists.
package struct ClientFacts: Sendable {
  /// The number of its waiting envelopes.
  package var waiting: Int
  /// The number of its lanes that are blocked.
  package var blocked: Int
  /// Whether somebody has paused this very client.
  package var isPaused: Bool
  /// The acceptance time of the oldest of its lanes' heads; nil if none is known.
  package var oldestWaitingAt: WallTime?
}

// What lists of clients and lanes ask for. Each look holds up whoever decides, and so is at no more
// than a page's lanes, or a piece of all.
extension Dispatcher {
  /// The states of some lanes, in the same order.
  package func facts(of lanes: [LaneNumber]) -> [LaneFacts] {
    state.withLock { state in lanes.map { state.scheduler.facts(of: $0) } }
  }

  /// The states of some clients, in the same order.
  package func facts(of clients: [ListedClient]) -> [ClientFacts] {
    state.withLock { state in
      clients.map { client in
        let lanes = client.lanes.map { state.scheduler.facts(of: $0) }
        return ClientFacts(
          waiting: state.scheduler.waiting(of: client.number),
          blocked: lanes.count { $0.isBlocked },
          isPaused: state.scheduler.isPaused(.client(client.number)),
          oldestWaitingAt: lanes.lazy.compactMap { $0.head?.acceptedAt }.min())
      }
    }
  }

  /// The first lanes behind a number that stand in some way, by number.
  ///
  /// Looks at all lanes that wait, piece by piece, or at all that are blocked or paused.
  package func lanes(
    that condition: LaneCondition, after number: LaneNumber?, countMax: Int
  ) async -> [LaneNumber] {
    var search = LaneSearch(condition, after: number, countMax: countMax)
    while true {
      state.withLock { $0.scheduler.advance(&search, countMax: Self.lanesPerPiece) }
      if search.isOver { return search.found }
      await Task.yield()
    }
  }
}

extension Scheduler {
  fileprivate func facts(of number: LaneNumber) -> LaneFacts {
    var facts = LaneFacts()
    facts.isPaused = isPaused(.lane(number))
    guard let lane = lane(number) else { return facts }
    facts.waiting = lane.waiting
    facts.head = lane.head
    facts.isBlocked = lane.phase == .blocked || lane.phase == .unwritable
    return facts
  }
}
